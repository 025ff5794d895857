"""How the world talks to muster. They parse, know their caller, send one command, render."""
