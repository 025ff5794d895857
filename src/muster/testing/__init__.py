"""Fakes and simulations that muster is tested with, public because yours may need them too."""
