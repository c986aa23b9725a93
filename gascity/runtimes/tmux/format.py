"""What tmux is asked for in one look at the whole host, and how its answer is read.

One client prints two kinds of lines, panes and clients, and a last one that says it is all. A line
that cannot be read, or an answer that breaks off at whatever place, makes the whole doubtful: what
is missing from half an answer would pass for stopped.

Source: DESIGN §8 (R10, R12, R37, R45)
"""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gascity.model.world import Exit
from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.screens import Screen, read_screen

_PANE: Final = (
    "pid",
    "session_id",
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "window_activity",
    "session_created",
    "@gc_pane",
    "@gc_mark",
    "@gc_token",
    "session_name",
)
_CLIENTS: Final = "C|#{client_control_mode}|#{session_name}"
LOOK: Final = (
    "list-panes",
    "-a",
    "-F",
    "|".join(("P", *(f"#{{{name}}}" for name in _PANE))),
    ";",
    "list-clients",
    "-F",
    _CLIENTS,
    ";",
    "display-message",
    "-p",
    "E|#{pid}",
)
# More than any terminal shows, escape sequences included; what judges screens is asked every tick.
MOST_SIGNS: Final = 200_000
MOST_SIGNS_A_LINE: Final = 6_000
_SCREEN: Final = (
    "pane_id",
    "cursor_flag",
    "cursor_x",
    "cursor_y",
    "alternate_on",
    "window_activity",
    "pane_title",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One pane; `is_agent` for the one the session was started with."""

    id: str
    pid: int
    activity: int  # unix seconds of the last output in its window
    is_dead: bool
    is_agent: bool
    exit: Exit | None

    @property
    def is_reaped(self) -> bool:
        """Its end is known; a pane is dead a moment earlier, when its terminal closes."""
        return self.exit is not None and (self.exit.code, self.exit.signal) != (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """One tmux session with its panes; `attached` counts people, not observers (R12)."""

    name: str
    id: str
    mark: str
    token: str
    created: int
    panes: tuple[Pane, ...]
    attached: int = 0

    @property
    def key(self) -> str:
        """Tells this run from every other of the same name."""
        return f"{self.id} {self.created} {self.token}"

    @property
    def agent(self) -> Pane:
        """The pane of the agent, or the oldest there is when that one is gone."""
        return next((pane for pane in self.panes if pane.is_agent), self.panes[0])

    @property
    def live(self) -> tuple[Pane, ...]:
        """Panes whose program has not ended."""
        return tuple(pane for pane in self.panes if not pane.is_dead)

    @property
    def activity(self) -> int:
        """Unix seconds of the last output anywhere in the session."""
        return max(pane.activity for pane in self.panes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Everything on one server."""

    server_pid: int
    sessions: dict[str, Hosted] = field(default_factory=dict)


def mark_of(city: str) -> str:
    """The city's mark as it is kept on a session: short, and safe inside a format."""
    return hashlib.sha256(city.encode(errors="surrogateescape")).hexdigest()[:16]


def read_host(out: str) -> Host:
    """The answer to `LOOK`.

    Raises:
        RuntimeUnreachable: the answer is not what was asked for.
    """
    try:
        return _read_host(out.removesuffix("\n").split("\n"))
    except (ValueError, KeyError, IndexError) as error:
        raise RuntimeUnreachable(f"tmux gave a garbled answer: {error}") from error


def _read_host(lines: Iterable[str]) -> Host:
    server_pid = 0
    panes: dict[str, list[Pane]] = {}
    facts: dict[str, dict[str, str]] = {}
    attached: dict[str, int] = {}
    ended = 0
    for line in lines:
        if ended:
            raise ValueError(f"{line[:40]!r} after the end")
        kind, _, rest = line.partition("|")
        if kind == "P":
            fact = dict(zip(_PANE, rest.split("|", len(_PANE) - 1), strict=True))
            server_pid = int(fact["pid"])
            facts[fact["session_name"]] = fact
            panes.setdefault(fact["session_name"], []).append(_pane(fact))
        elif kind == "C":
            control, name = rest.split("|", 1)
            attached[name] = attached.get(name, 0) + (control != "1")
        elif kind == "E":
            ended = int(rest)
        else:
            raise ValueError(f"{line[:40]!r}")
    if not server_pid or ended != server_pid:
        raise ValueError("it breaks off")
    return Host(
        server_pid=server_pid,
        sessions={
            name: Hosted(
                name=name,
                id=fact["session_id"],
                mark=fact["@gc_mark"],
                token=fact["@gc_token"],
                created=int(fact["session_created"]),
                panes=tuple(panes[name]),
                attached=attached.get(name, 0),
            )
            for name, fact in facts.items()
        },
    )


def _pane(fact: dict[str, str]) -> Pane:
    is_dead = fact["pane_dead"] == "1"
    return Pane(
        id=fact["pane_id"],
        pid=int(fact["pane_pid"] or 0),
        activity=int(fact["window_activity"]),
        is_dead=is_dead,
        is_agent=fact["pane_id"] == fact["@gc_pane"],
        exit=Exit(code=_number(fact["pane_dead_status"]), signal=_signal(fact["pane_dead_signal"]))
        if is_dead
        else None,
    )


def _number(text: str) -> int | None:
    return int(text) if text else None


def _is_number(text: str) -> bool:
    """Digits that `int` reads, and no more than a screen or a clock needs."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def _signal(text: str) -> int | None:
    """A signal's number; 3.2 says nothing, some systems give its name."""
    if _is_number(text):
        return int(text)
    return next((one.value for one in signal.Signals if one.name == f"SIG{text.upper()}"), None)


def capture_lines(word: str, panes: Iterable[Pane]) -> list[str]:
    """Commands that print the screens of `panes`, each under a heading that starts with `word`."""
    fields = "|".join(f"#{{{name}}}" for name in _SCREEN)
    return [
        f"display-message -p -t {pane.id} '{word}|{fields}' ; capture-pane -p -e -t {pane.id}"
        for pane in panes
    ]


def read_captures(word: str, out: str) -> dict[str, tuple[Screen, int]]:
    """The screens printed by `capture_lines`, with the activity of their window, by pane id."""
    found = {}
    for part in out.split(f"{word}|")[1:]:
        heading, _, text = part.partition("\n")
        words = heading.split("|", len(_SCREEN) - 1)
        if len(words) != len(_SCREEN) or not all(map(_is_number, words[2:4] + words[5:6])):
            continue
        if len(text) > MOST_SIGNS or max(map(len, text.split("\n"))) > MOST_SIGNS_A_LINE:
            continue  # no picture is a doubt; a program can make its window as large as it likes
        pane, flag, x, y, alternate, activity, title = words
        screen = read_screen(
            text,
            cursor=(int(x), int(y)) if flag == "1" else None,
            is_alternate=alternate == "1",
            title=title,
        )
        found[pane] = (screen, int(activity))
    return found
