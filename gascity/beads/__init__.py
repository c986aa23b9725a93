"""Durable records: beads, the store protocol, its implementations, and the list of persisted keys."""
