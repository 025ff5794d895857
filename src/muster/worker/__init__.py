"""Work on hostile text in a process of its own: what calls it, what it calls, and its limits."""
