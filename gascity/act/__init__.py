"""Plan to effects: walks over one session at a time, and the requests of operators."""
