"""gascity keeps agent sessions awake for exactly as long as somebody needs them.

A patrol asks the runtimes and the store what is true, decides purely, acts, and says what it did:

    observe -> decide -> act -> report

`decide/tick.py` is the place to start reading; `docs/ARCHITECTURE.md` is the map. This module stays
empty of imports, because every `gc` command pays for what it loads.
"""

__all__ = ["__version__"]

__version__ = "0.1.1"
