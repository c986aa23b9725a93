"""Durable records: beads, the store protocol, its implementations, the list of persisted keys."""
