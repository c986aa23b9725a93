"""The control socket: its server, its words, and the thin client that needs only the stdlib."""
