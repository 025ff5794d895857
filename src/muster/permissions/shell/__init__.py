"""Shell command lines: words, grammar, builtins, and the effects of a line."""
