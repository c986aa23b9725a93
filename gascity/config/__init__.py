"""TOML to `City`: read, check, compose, explain. Validation libraries go no further than here."""
