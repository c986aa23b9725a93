"""What is shown on a terminal moves no cursor, sets no title, fills no clipboard (E11).

Agents choose what is on their screens, people choose titles: both reach other people's terminals.
"""

from __future__ import annotations

import io
import json
import logging
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from gascity.beads.mirror import event_line
from gascity.cli import events as events_command
from gascity.cli.config import visible
from gascity.cli.why import explained
from gascity.model.events import Event, EventType
from gascity.report import log
from gascity.report.lines import lines
from gascity.report.table import columns, local_time, safe
from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city
from tests.polling import wait_until

# What terminals act upon: CSI, OSC (title, clipboard, links), DCS, APC, C1, direction, zero width.
CORPUS: Final = (
    "\x1b[2J\x1b[H", "\x1b[31mred", "\x1b[?1049h", "\x1b[8mhidden", "\x1b[6n", "\x1b[c", "\x1b[5i",
    "\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]52;c;cm0gLXJm\x07", "\x1b]52;p;?\x1b\\",
    "\x1b]8;;http://127.0.0.1/\x07link\x1b]8;;\x07", "\x1b]9;note\x07", "\x1b]777;notify;a;b\x07",
    "\x1b]1337;File=:AAAA\x07", "\x1b]4;1;rgb:00/00/00\x07",
    "\x1bP+q544e\x1b\\", "\x1b_Gf=100;AAAA\x1b\\",
    "\x1b^private\x1b\\", "\x1bX sos\x1b\\", "\x1bc", "\x1b#8", "\x1b(0", "\x1b7\x1b8", "\x1b",
    "\x9b2J", "\x9b31m", "\x9d52;c;cm0gLXJm\x9c", "\x90q\x9c", "\x9fx\x9c", "\x85", "\x84\x8d",
    "a\rb", "a\bb", "a\x7fb", "\a", "\v\f", "\x0e\x0f", "\x00", "\t",
    "\u202eevil\u202c", "\u2066x\u2069", "\u200b\u200d\ufeff", "\u2028\u2029",
    "\u061c", "\U000e0041",
)  # fmt: skip
NASTY: Final = "".join(f"{one}|" for one in CORPUS)
_COLOUR: Final = re.compile("\x1b\\[(0|31|32|33|34|90)m")  # what we paint ourselves


def acts(text: str) -> list[str]:
    """The characters of a text that do something else than being seen; line ends are allowed."""
    bad = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return [repr(c) for c in text if c != "\n" and unicodedata.category(c) in bad]


@pytest.mark.parametrize("text", [*CORPUS, NASTY], ids=range(len(CORPUS) + 1))
def test_a_word_is_shown_by_its_signs(text: str) -> None:
    """One line, nothing that acts, nothing lost without a trace (E11)."""
    shown = safe(text)
    assert acts(shown) == []
    assert "\n" not in shown
    assert shown


@given(st.text())
def test_any_word_is_shown_by_its_signs(text: str) -> None:
    """Whatever it is (E11)."""
    assert acts(safe(text)) == []
    assert acts(local_time(text) or "") == []
    assert acts("\n".join(columns([[text, text], [text]]))) == []


def test_status_why_and_events_show_signs() -> None:
    """Every text of their objects may be hostile (E11)."""
    entry: dict[str, Any] = {
        "name": NASTY, "state": NASTY, "sleep_reason": NASTY,
        "masked_by": NASTY, "blockers": [NASTY],
        "policy": {"source": NASTY, "effective": NASTY, "adjustment": NASTY},
        "capability": {"class": NASTY, "adjustment": NASTY},
    }  # fmt: skip
    assert acts("\n".join(lines([entry, {**entry, "state": "asleep"}]))) == []
    painted = "\n".join(lines([entry], colour=True))
    assert acts(_COLOUR.sub("", painted)) == []
    why: dict[str, Any] = {
        "verdict": NASTY, "rule": NASTY, "state": NASTY, "since": NASTY, "sleep_reason": NASTY,
        "deadline": NASTY, "last_error": NASTY, "held_back": NASTY, "wake_sources": [NASTY],
        "blockers": [{"name": NASTY, "detail": NASTY}, NASTY], "changes": [NASTY],
        "signals": [{"name": NASTY, "value": NASTY, "detail": NASTY, "health": NASTY}],
        "policy": {"requested": NASTY,
        "chain": [{"layer": NASTY, "value": NASTY, "origin": NASTY}]},
    }  # fmt: skip
    assert acts("\n".join(explained(why))) == []
    event = dict.fromkeys(("seq", "ts", "type", "subject", "message"), NASTY)
    assert acts(events_command.line(event)) == []


@given(st.text())
def test_the_mirror_of_events_can_be_watched(text: str) -> None:
    """`tail -f` of the file is safe, and what it holds is the same object (E11)."""
    event = Event(
        type=EventType.WOKE, ts=datetime.now(UTC), subject=text, message=text, payload={text: text}
    )
    line = event_line(event)
    assert acts(line) == []
    assert "\n" not in line
    read = json.loads(line)
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert (read["message"], read["payload"]) == (text, {text: text})


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_shown_config_is_the_same_config(text: str) -> None:
    """`gc config show` writes what acts as an escape of TOML (E11)."""
    import tomli_w

    written = tomli_w.dumps({"a": {text: text}})
    assert acts(visible(written)) == []
    assert tomli.loads(visible(written)) == {"a": {text: text}}


def test_the_log_on_a_terminal_shows_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gc start --foreground` prints problems that may quote anything (E11)."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    root = logging.getLogger("gascity")
    before = (root.handlers[:], root.level, root.propagate)
    monkeypatch.setattr("sys.stderr", terminal)
    try:
        log.set_up(None)
        log.logger("test").warning("event", problem=NASTY)
        try:
            raise ValueError(NASTY)
        except ValueError as problem:
            log.logger("test").error("failed", exc_info=problem)
    finally:
        root.handlers[:], root.propagate = before[0], before[2]
        root.setLevel(before[1])
        import structlog

        structlog.reset_defaults()
    assert "problem=" in terminal.getvalue()
    assert "ValueError" in terminal.getvalue()
    assert acts(terminal.getvalue()) == []


# --- a whole city, on a terminal

PAINTER: Final = """
import sys, time
sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]) + b"\\r\\nDONE\\r\\n")
sys.stdout.flush()
time.sleep(600)
"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCity]:
    """A city with an agent whose screen and dialog are full of sequences."""
    import shlex
    import sys

    program = tmp_path_factory.mktemp("painter") / "painter.py"
    program.write_text(PAINTER)
    command = shlex.join([sys.executable, str(program), NASTY.encode(errors="replace").hex()])
    painter = f'[[agent]]\nname = "painter"\nstart_command = {json.dumps(command)}\n'
    guest = agent("guest") + '[[named_session]]\ntemplate = "guest"\nmode = "on_demand"\n'
    with running_city(city_toml(agent("mayor"), painter, guest)) as one:
        one.wait_up("mayor")
        wait_until(lambda: "DONE" in one.screen("painter"), timeout_s=20)
        for word in CORPUS:
            if word.strip() and "\0" not in word:
                one.ask("sling", target="mayor", title=f"t{word}", priority=1)
                one.ask("nudge", session="guest", text=f"t{word}", mode="queue")
                one.ask("wait_add", session="mayor", for_s=600, note=f"t{word}")
        yield one


@pytest.mark.slow
class TestCity:
    """Every command that shows something, run on a terminal of its own."""

    pytestmark = needs_tmux

    @pytest.mark.parametrize(
        "words",
        [
            ("session", "peek", "painter"),
            ("status",),
            ("session", "list"),
            ("why", "painter"),
            ("why", "mayor"),
            ("events",),
            ("bead", "list"),
            ("doctor",),
            ("config", "show"),
            ("wait", "list"),
            ("session", "messages", "--all"),
            ("attach", "\x1b]52;c;cm0=\x07"),
            ("wake", "\x9b2Jx"),
            ("\x1b[2J",),
        ],
        ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
    )
    def test_nothing_acts_on_the_terminal(self, city: RealCity, words: tuple[str, ...]) -> None:
        """Titles, screens, arguments: all that comes out is signs and our own colours (E11)."""
        terminal = city.terminal(*words)
        terminal.end(within_s=30)
        shown = _COLOUR.sub("", terminal.shown.replace("\r\n", "\n"))
        assert shown.strip()
        assert acts(shown) == []
        piped = city.gc(*words)
        assert acts(piped.out + piped.err) == []

    def test_json_is_plain_ascii(self, city: RealCity) -> None:
        """Scripts' output goes to terminals as well (E11)."""
        for words in (("status",), ("events",), ("bead", "list"), ("why", "painter")):
            assert acts(city.gc(*words, "--json").out) == []

    def test_no_file_of_the_city_acts_when_it_is_shown(self, city: RealCity) -> None:
        """`cat` of the log and the mirror is safe (E11)."""
        for name in ("events.jsonl", "controller.log"):
            text = Path(city.path / ".gc" / name).read_text(encoding="utf-8")
            assert acts(text) == [], name
