"""Durable memory: one protocol, its implementations, and the wire format."""
