"""Tests of the breaker."""
