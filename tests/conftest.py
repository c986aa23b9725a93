"""What holds for every test, wherever it is started from."""

from __future__ import annotations

import signal

# A shell starts what runs in its background with Ctrl-C ignored, and what it starts inherits that.
# The programs under test must hear it, as they would for a person.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
