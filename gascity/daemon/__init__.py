"""The controller: one loop that observes, decides, acts and reports, wired to real parts.

Source: DESIGN §X
"""

from gascity.daemon.controller import Controller
from gascity.daemon.snapshot import Snapshot

__all__ = ["Controller", "Snapshot"]
