"""A child process and its descendants: spawning, pipes, output, and ending all of it."""
