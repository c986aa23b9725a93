"""Fuzzing of everything that reads what strangers write: `python -m tests.security.fuzz`.

A seeded mutation loop over a corpus of real inputs, one target after the other, within a time for
all. Whatever a reader raises beside its documented error, and whatever costs too much time, is a
fault; it is printed with the seed that makes the very input again. Standard library only, so that
it runs for hours without growing. (R13 of the campaigns; E3, E6, R5, R10.)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gascity.api.frames import REQUESTS, BadRequest, parse_line
from gascity.beads.bead import Bead
from gascity.beads.keys import KEYS
from gascity.beads.record import read_session, texts_of
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import EventQuery, Query, StoreUnavailable
from gascity.cli.config import visible
from gascity.config.load import load_city
from gascity.config.write import effective_toml
from gascity.model.reading import Known
from gascity.observe import checks, idle_probe
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.bounded import Ran
from gascity.runtimes.exec import answers as exec_answers
from gascity.runtimes.plain import last_lines
from gascity.runtimes.screens import (
    DETECTORS,
    judge,
    judge_any,
    judge_lines,
    read_screen,
    steady_text,
)
from gascity.runtimes.screens.examples import CORPUS
from gascity.runtimes.subprocess.records import read_run
from gascity.runtimes.tmux.format import (
    MOST_SIGNS,
    MOST_SIGNS_A_LINE,
    read_captures,
    read_host,
)
from gascity.runtimes.tmux.server import ServerId
from tests.security import made_up

ROOT: Final = Path(__file__).resolve().parents[2]
MOST_CPU_S: Final = 1.0  # of one input; the rule is 0.25 s on a machine that does nothing else
MOST_GROWN_KIB: Final = 256 * 1024
Run = Callable[[random.Random], None]


# --- mutation

_TOKENS: Final = (
    "[", "]", "{", "}", '"', "'", '"""', "'''", "=", ".", ",", "#", "\n", "\r", "\0", "\\",
    "\\u0000",
    "|",
    "\x1b", "\x1b[31m", "\x1b[", "\x1b]0;", "\x9b", "\u2028", "\u202e", "\ud800", "\U0001f600",
    "²", "٣",
    "true", "null", "NaN", "-1", "1e999",
    "9" * 40, "9" * 5000, "0x", "1979-05-27T07:32:00Z", "inf",
    "[[agent]]", "[agent.pool]",
    "include = ", "env = ", "sleep_after_idle = ", "../", "/", "//", "~",
    "❯ ", "> ", "esc to interrupt", "Do you want to proceed?",
    "1. Yes", "╭", "│", "─", "●", "?", "(y/n)",
    "$(x)", "{{.Agent}}", "a" * 300, "a." * 40, " " * 2000, "─" * 2000, "(" * 200, "\t",
)  # fmt: skip


def mutated(chance: random.Random, corpus: list[str]) -> str:
    """A text of the corpus after a few changes of every kind."""
    text = chance.choice(corpus)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 5, 12))):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        to = min(to, at + chance.choice((0, 1, 4, 20, 200)))
        kind = chance.randrange(7)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + chance.choice(_TOKENS) + text[at:]
        elif kind == 2:
            text = text[:at] + chance.choice(_TOKENS) * chance.randint(1, 60) + text[to:]
        elif kind == 3:
            other = chance.choice(corpus)
            start = chance.randint(0, len(other))
            text = text[:at] + other[start : start + chance.randint(0, 400)] + text[at:]
        elif kind == 4:
            text = text[:to] + text[at:to] * chance.randint(1, 40) + text[to:]
        elif kind == 5:
            text = text[:at] + chr(chance.choice((chance.randrange(128), chance.randrange(0x3000))))
            text += text[to:]
        else:
            lines = text.split("\n")
            chance.shuffle(lines)
            text = "\n".join(lines)
        text = text[:300_000]
    return text


# --- targets


@dataclass
class Toml:
    """The config and the graph of its includes: any bytes are answered, never raised (R5, E6)."""

    folder: Path
    corpus: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = [*ROOT.glob("config/*.toml"), *ROOT.glob("examples/**/*.toml")]
        self.corpus = [path.read_text(encoding="utf-8") for path in found]
        self.corpus += [
            'include = ["parts/a.toml", "//parts/b.toml"]\n[workspace]\nname = "t"\n',
            '[workspace]\nname="t"\n[[agent]]\nname="a"\nenv={A="1"}\nsleep_after_idle="60s"\n',
            '[[rigs]]\nname="r"\npath="r"\n[[rigs.overrides]]\nagent="a"\nunset=["env"]\n',
            '[[patches.agent]]\nname="a"\n[agent.pool]\nmin=1\nmax=2\ncheck="echo 1"\n',
            '[[named_session]]\ntemplate="a"\nmode="always"\n[session_sleep]\nnoninteractive="0s"\n',
        ]
        (self.folder / "parts").mkdir(exist_ok=True)

    def __call__(self, chance: random.Random) -> None:
        for name in ("city.toml", *(f"parts/{one}.toml" for one in "ab"[: chance.randrange(3)])):
            text = mutated(chance, self.corpus)
            if chance.random() < 0.3:
                inner = ", ".join(json.dumps(chance.choice(_INCLUDES)) for _ in range(3))
                text = f"include = [{inner}]\n{text}"
            data = text.encode("utf-8", "surrogatepass")
            (self.folder / name).write_bytes(data)
        result = load_city(self.folder)
        for problem in result.problems:
            assert "\n" not in str(problem)
        assert (result.city is None) is bool(result.errors)
        if result.city is not None and chance.random() < 0.2:
            visible(effective_toml(result.city))


_INCLUDES: Final = (
    "parts/a.toml", "parts/b.toml", "//city.toml", "../x.toml", "parts", "parts/../parts/a.toml",
    "/etc/passwd", "parts/none.toml", "https://127.0.0.1/x", "\0", "a" * 5000,
)  # fmt: skip


@dataclass
class Packs:
    """A city of many files, some of them garbled: composed or refused, never raised (R5, E6)."""

    folder: Path

    def __post_init__(self) -> None:
        made_up.make(self.folder)
        self.corpus = list(made_up.FILES.values())

    def __call__(self, chance: random.Random) -> None:
        names = chance.sample(list(made_up.FILES), chance.randint(1, 3))
        for name in names:
            text = mutated(chance, [made_up.FILES[name], *self.corpus])
            (self.folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        result = load_city(self.folder)
        for problem in result.problems:
            assert "\n" not in str(problem)
        assert (result.city is None) is bool(result.errors)
        for name in names:
            (self.folder / name).write_text(made_up.FILES[name], encoding="utf-8")


class Frames:
    """One line of the control socket: a request or one BadRequest (E3)."""

    def __init__(self) -> None:
        values = ['"x"', "1", "true", "null", "[]", '["a"]', "{}", '{"a":"b"}', "1.5", "-1"]
        self.corpus = [
            json.dumps({"v": 1, "op": op})[:-1] + f', "{name}": {value}}}'
            for op, fields in REQUESTS.items()
            for name in (fields or ("x",))
            for value in values
        ] + ["ping", "stop", '{"v":1,"op":"status"}', "[" * 2000]

    def __call__(self, chance: random.Random) -> None:
        data = mutated(chance, self.corpus).encode("utf-8", "surrogatepass")
        if chance.random() < 0.2:
            data = bytes(chance.randrange(256) if chance.random() < 0.05 else b for b in data)
        with contextlib.suppress(BadRequest):
            request = parse_line(data[: 64 * 1024])
            json.dumps(request.fields, allow_nan=False).encode()


class Hosts:
    """The answer to a look, the pictures of screens, the note about a server (R10)."""

    def __init__(self) -> None:
        pane = "P|4711|$1|%1|4712|0|||1767225600|1767225600|%1|{m}|{t}|mayor"
        dead = "P|4711|$2|%2|0|1|127||1767225600|1767225600|%2|{m}|{t}|a|b"
        self.corpus = [
            "\n".join([pane, dead, "C|0|mayor", "C|1|a|b", "E|4711", ""]).format(
                m="0" * 16, t="f" * 32
            ),
            (
                "word|%1|1|3|4|0|1767225600|title\n❯ \n"
                "word|%2|0|0|0|1|1767225600|a|b\n\x1b[2mdim\x1b[0m\n"
            ),
            "/tmp/tmux-0/gc-x 4711 abcd1234-9999",
        ]

    def __call__(self, chance: random.Random) -> None:
        text = mutated(chance, self.corpus)
        with contextlib.suppress(RuntimeUnreachable):
            host = read_host(text)
            for one in host.sessions.values():
                assert one.agent in one.panes
                assert isinstance(one.activity, int)
        read_captures("word", text)
        ServerId.parse(text)


class Screens:
    """What a session shows, judged by every detector: an answer, and quickly (R15)."""

    def __init__(self) -> None:
        self.corpus = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.txt"))]
        assert self.corpus, "the corpus ships with the package"
        self.corpus += ["─" * 9000 + "\n", " " * 9000 + "x\n", "> " * 3000, "1. a\n" * 300]

    def __call__(self, chance: random.Random) -> None:
        text = mutated(chance, self.corpus)[:MOST_SIGNS]
        text = "\n".join(line[:MOST_SIGNS_A_LINE] for line in text.split("\n"))
        cursor = chance.choice((None, (0, 0), (3, 1), (10**6, 10**6)))
        screen = read_screen(
            text, cursor=cursor, is_alternate=chance.random() < 0.2, title=text[:50]
        )
        prefix = chance.choice(("", "❯ ", "(", "[", "\\", ">"))
        judge_any(screen, prefix=prefix)
        judge_lines(screen, prefix=prefix)
        for name in (*DETECTORS, "unheard-of"):
            judge(screen, detector=name, prefix=prefix)
            steady_text(screen, name)


class Processes:
    """A line of the kernel about a process whose name anybody may choose (S6)."""

    def __init__(self) -> None:
        self.corpus = [
            (processes.PROC / "self" / "stat").read_text(),
            "1 (a) b) S 0 1 1 0 -1 4194560 " + "1 " * 45,
            "7 (x (y)) Z 1 1 1 0 -1 " + "0 " * 46,
        ]

    def __call__(self, chance: random.Random) -> None:
        processes.parsed(7, mutated(chance, self.corpus))


class Records:
    """Metadata of a session's record, written by who knows whom (D2)."""

    def __init__(self) -> None:
        self.names = [key.name for key in KEYS]
        self.values = [
            "1", "0", "true", "-1", "9" * 30, "2026-01-01T00:00:00.000000Z",
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59.999999-23:59",
            "[]", "{}", "null", '[{"at":1}]', '{"at":"x"}', "[" * 5000,
            '{"by":"a","at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T00:00:00Z"}',
            "awake", "asleep",
            "creating", "x" * 9000, "NaN", "Infinity", "1e999", "\ud800", "٣", "²",
        ]  # fmt: skip

    def __call__(self, chance: random.Random) -> None:
        metadata = {
            chance.choice(self.names): mutated(chance, self.values)
            for _ in range(chance.randint(1, 12))
        }
        now = datetime(2026, 1, 1, tzinfo=UTC)
        bead = Bead(
            id="gc-1", type="session", status="open", title="t", metadata=metadata,
            created_at=now, updated_at=now, version=1,
        )  # fmt: skip
        session, _ = read_session(bead)
        again, problems = read_session(replace(bead, metadata=texts_of(session)))
        assert problems == (), problems
        assert again == session


class Rows:
    """A database somebody edited: opened, or refused by its documented error (R75)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.empty = folder / "empty.db"
        SqliteBeads(self.empty).close()
        self.values: list[Any] = [
            "", "x", "[]", "{}", "null", "[1]", '{"a":1}', "{",
            "[" * 3000, "2026-01-01T00:00:00.000000Z",
            "\0", 1, 0, -(2**62),
        ]  # fmt: skip

    def __call__(self, chance: random.Random) -> None:
        path = self.folder / "gascity.db"
        for left in self.folder.glob("gascity.db*"):
            left.unlink()
        shutil.copyfile(self.empty, path)
        db = sqlite3.connect(path)
        texts = [one for one in self.values if isinstance(one, str)]
        good: list[Any] = [
            1, "gc-1", "task", "open", "t", "[]", "", 2, "[]", "{}",
            "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", "", 1,
        ]  # fmt: skip
        for _ in range(chance.randint(1, 3)):
            at = chance.choice((2, 3, 4, 5, 6, 8, 9, 10, 11, 12))
            good[at] = mutated(chance, texts).encode("utf-8", "replace").decode()
        db.execute(f"INSERT INTO beads VALUES ({', '.join('?' * 14)})", good)
        event = [1, "2026-01-01T00:00:00.000000Z", "session.woke", "a", "b", "c", "{}", 9]
        event[chance.choice((1, 2, 6))] = mutated(chance, texts).encode("utf-8", "replace").decode()
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
        db.execute("UPDATE counters SET value = 1 WHERE name IN ('seq', 'ordinal')")
        db.commit()
        db.close()
        try:
            beads = SqliteBeads(path)
        except StoreUnavailable:
            return
        try:
            for ask in (
                lambda: beads.query(Query(include_closed=True)),
                lambda: beads.events(EventQuery()),
                lambda: beads.get("gc-1"),
            ):
                with contextlib.suppress(StoreUnavailable):
                    ask()
        finally:
            beads.close()


class Answers:
    """What a pool's check or a work query printed, up to the cap (R9)."""

    def __init__(self) -> None:
        self.corpus = [
            "3",
            "[]",
            "{ }",
            "null",
            "No ready work found",
            " " * 200_000 + "x",
            "[" + " " * 99_999,
        ]

    def __call__(self, chance: random.Random) -> None:
        text = mutated(chance, self.corpus)
        checks.count_of(Known(text))
        checks.says_work(text)


class Scripts:
    """What session scripts, probes of agents and keepers' records say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.corpus = [
            "true", "3", "none", "idle", "busy background sleep 600", "busy pending permission",
            '{"kind": "permission", "question": "May I?", "since": "2026-01-01T10:00:00Z"}',
            "2026-01-01T10:00:00.123456789Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:00",
            '{"busy": false, "last_activity": "2026-01-01T10:00:00+02:00", "detail": "x"}',
            ('{"token": "t", "city": "/c", "boot": "b", "began": 1.5, "keeper": [1, 2], '
             '"agent": [3, 4], "ended": {"code": 7}}'),
            "[" * 9_999,
        ]  # fmt: skip

    def __call__(self, chance: random.Random) -> None:
        text = mutated(chance, self.corpus)
        now = datetime(2026, 1, 1, tzinfo=UTC)
        exec_answers.activity_of(text, now=now)
        for parsed in (exec_answers.attached_of, exec_answers.pending_of, exec_answers.boundary_of):
            with contextlib.suppress(RuntimeUnreachable):
                parsed(text)
        idle_probe.said_of(Ran(code=chance.choice((0, 1, 2, None)), out=text), now=now)
        (self.folder / "session.json").write_text(text, encoding="utf-8", errors="replace")
        with contextlib.suppress(RuntimeUnreachable):
            found = read_run(self.folder)
            assert found is None or found.alive is not None
        last_lines(text, chance.randrange(5))


def targets(folder: Path) -> dict[str, Run]:
    """Every target by name; `folder` is theirs to write in."""
    for name in ("toml", "rows", "packs", "scripts"):
        (folder / name).mkdir(mode=0o700)
    return {
        "toml": Toml(folder / "toml"),
        "packs": Packs(folder / "packs"),
        "frames": Frames(),
        "hosts": Hosts(),
        "scripts": Scripts(folder / "scripts"),
        "screens": Screens(),
        "processes": Processes(),
        "records": Records(),
        "rows": Rows(folder / "rows"),
        "answers": Answers(),
    }


# --- the loop


@dataclass(kw_only=True)
class Outcome:
    """What came of one target."""

    name: str
    inputs: int = 0
    worst_s: float = 0.0
    faults: list[str] = field(default_factory=list)


class TooSlow(BaseException):
    """Cut off in the middle, wherever it is; no reader catches it."""


def cut_off(*_: object) -> None:
    """What the timer of an input does."""
    raise TooSlow


def seeds(first: int) -> Iterator[int]:
    """Seeds of inputs, each input from its own, so that one can be made again."""
    while True:
        yield first
        first += 1


def campaign(name: str, run: Run, *, first: int, until: float, most: int = sys.maxsize) -> Outcome:
    """Feed one target until the time is over, or `most` inputs; five faults are enough."""
    outcome = Outcome(name=name)
    signal.signal(signal.SIGVTALRM, cut_off)
    for seed in seeds(first):
        if time.monotonic() >= until or outcome.inputs >= most or len(outcome.faults) >= 5:
            return outcome
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * MOST_CPU_S)
        try:
            run(random.Random(seed))
        except TooSlow as cut:
            where = "".join(traceback.format_tb(cut.__traceback__)[-3:])
            outcome.faults.append(f"{name} --seed {seed} --inputs 1\ncut off in\n{where}")
        except Exception:  # noqa: BLE001  that is what is looked for
            outcome.faults.append(f"{name} --seed {seed} --inputs 1\n{traceback.format_exc()}")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - began
        outcome.inputs += 1
        outcome.worst_s = max(outcome.worst_s, took)
        if took > MOST_CPU_S:
            outcome.faults.append(f"{name} --seed {seed} --inputs 1\ntook {took:.2f} s")
    raise AssertionError("seeds never end")


def main() -> int:
    """Run the campaigns that are asked for; 1 when one found a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help="which; all when none is named")
    parser.add_argument("--minutes", type=float, default=1.0, help="for all of them together")
    parser.add_argument("--seed", type=int, default=None, help="of the first input (by the clock)")
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="at most so many of each")
    said = parser.parse_args()
    first = said.seed if said.seed is not None else time.time_ns() // 1000
    print(f"first seed {first}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gc-fuzz-") as folder:
        chosen = targets(Path(folder).resolve())
        chosen = {name: chosen[name] for name in said.target or chosen}
        each_s = said.minutes * 60 / len(chosen)
        failed = False
        for name, run in chosen.items():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            outcome = campaign(
                name, run, first=first, until=time.monotonic() + each_s, most=said.inputs
            )
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            if grown > MOST_GROWN_KIB:
                outcome.faults.append(f"{name}: memory grew by {grown // 1024} MiB")
            print(
                f"{name:<10} {outcome.inputs:>9,} inputs  worst {outcome.worst_s * 1000:6.0f} ms  "
                f"+{grown // 1024} MiB  {len(outcome.faults)} faults",
                flush=True,
            )
            for fault in outcome.faults:
                failed = True
                print(f"  again: python -m tests.security.fuzz {fault}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
