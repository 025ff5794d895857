"""The files of the dashboard, as browsers load them."""
