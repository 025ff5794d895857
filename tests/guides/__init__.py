"""The examples of the README and of the guides, run as a reader would run them."""
