"""The durable event log: one protocol, its implementations, and the wire format."""
