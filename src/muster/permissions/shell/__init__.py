"""Shell command lines: words, grammar, builtins, and what a line does."""
