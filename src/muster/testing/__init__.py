"""Fakes for tests of muster, public for tests of your own."""
