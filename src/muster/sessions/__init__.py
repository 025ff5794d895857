"""Sessions: starting and ending processes in seats, prompting them, taking in their output.

Imports the engine, the inbox and views; knows runtimes only by `engine/ports.py`.
"""
