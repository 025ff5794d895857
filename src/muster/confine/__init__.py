"""Confinement: the kernel enforces what a command may write.

A policy (`policy.py`) names the folders and files that may be written. `plan.py` turns it into a
plan for this kernel: Landlock rules and a seccomp filter. A launcher (`launch.pl`, `launch.py`)
carries the plan out on itself and then becomes the command. Without Landlock, bubblewrap does the
same (`bubblewrap.py`); without both, a command is not confined, and `kernel.py` says so.

The room imports nothing else of muster and little of the standard library: hooks use it.
"""
