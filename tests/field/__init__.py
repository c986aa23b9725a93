"""Cities that people really run, where they are at hand."""
