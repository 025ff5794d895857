"""The runtime `python`: an agent is a coroutine of the user's, in muster's own process."""
