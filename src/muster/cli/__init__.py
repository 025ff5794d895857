"""The command line. Each verb's module is imported when the verb is called."""
