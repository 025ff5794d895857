"""One suite that every runtime passes, each with a scripted program."""
