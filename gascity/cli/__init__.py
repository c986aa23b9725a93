"""The command line: one module a command group, and only the invoked one is imported."""
