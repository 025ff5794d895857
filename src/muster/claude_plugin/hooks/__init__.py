"""The answering side of the plugin's hooks: a socket, and the desk behind it."""
