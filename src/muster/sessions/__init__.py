"""Sessions: starts and stops the processes of agents, prompts them, and handles their output.

Imports the engine, the inbox and views; knows runtimes only by `engine/ports.py`.
"""
