"""`gc` on a terminal of its own: what it shows, and keys to press."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def gc(*words: str) -> list[str]:
    """The command line of `gc WORDS`."""
    return [sys.executable, "-m", "gascity", *words]


def environment(city: Path, **more: str) -> dict[str, str]:
    """What `gc` runs with: this city and no other, no tmux around it."""
    ours = ("GC_", "TMUX", "NO_COLOR", "TERM")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"GC_CITY": str(city), "PYTHONPATH": str(ROOT), "TERM": "xterm"} | more


class Terminal:
    """A command on a new terminal. `end` gives its exit code; `shown` all it printed so far."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.shown = ""
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)

    def wait_for(self, text: str, *, within_s: float = 20.0) -> None:
        """Read until the text is shown."""
        deadline = time.monotonic() + within_s
        while text not in self.shown:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} never came; shown: {self.shown!r}"
            if not select.select([self._master], [], [], left)[0]:
                continue
            try:
                self.shown += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                assert text in self.shown, f"{text!r} never came; shown: {self.shown!r}"

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._master, text.encode())

    def end(self, *, within_s: float = 20.0, keys: str = "") -> int:
        """Read to the end; the exit code. `keys` are pressed each half second until then.

        tmux drops what is typed while it sets the terminal up, so a detach may need a second try;
        and it takes what comes within a millisecond of other keys for pasted text, so the keys wait
        a tenth of a second first.
        """
        deadline = time.monotonic() + within_s
        press_at = time.monotonic() + 0.1
        with contextlib.suppress(OSError):  # the other end is closed
            while True:
                left = deadline - time.monotonic()
                assert left > 0, f"it does not end; shown: {self.shown!r}"
                until_press = press_at - time.monotonic()
                if keys and until_press <= 0:
                    self.type(keys)
                    press_at, until_press = time.monotonic() + 0.5, 0.5
                pause = min(left, max(0.0, until_press)) if keys else left
                if select.select([self._master], [], [], pause)[0]:
                    more = os.read(self._master, 65536)
                    if not more:
                        break
                    self.shown += more.decode("utf-8", "replace")
        self._close()
        return self.process.wait(timeout=20)

    def detach(self) -> int:
        """Leave tmux by its keys; the exit code."""
        return self.end(keys="\x02d")

    def hang_up(self) -> None:
        """Close the terminal, as by its window's button, and end what is left; safe to repeat."""
        self._close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=5)

    def _close(self) -> None:
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
