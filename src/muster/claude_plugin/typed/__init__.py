"""Commands that a person types in Claude Code, such as `/review`: may they be expanded?

Claude Code runs the inline shell commands of such a file when it expands it, and asks no hook about
them: nothing can judge or confine them. So in a state machine session a typed command is expanded
only if its file is known, and has nothing in it that runs past the hooks.
"""
