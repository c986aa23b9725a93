"""A stand-in for a coding agent: a real terminal program with a prompt, for tests and the demo.

`python -m gascity.testing.agent` shows a prompt and does what is typed (`help` lists it): works
with a busy marker, shows dialogs, leaves children behind, repaints, refuses to end, exits. What is
typed but not sent stays visible at the prompt.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gascity.testing.agent_options import DIALOGS, RULE, Options, options_from

CLOSE_TRIES: Final = 5  # a worker that gave up at once would do the same work again
_HELP: Final = (
    "work [S] | permission | plan | choice | trust | unknown | background [S] | run CMD | "
    "setsid [S] | fg CMD | repaint | ignore-term | hook | tell EVENT | exit [N]"
)


class Interrupted(Exception):
    """Esc or Ctrl-C while working."""


@dataclass(slots=True, kw_only=True)
class StandIn:
    """The program: one loop over the keyboard and the clock."""

    options: Options
    typed: str = ""
    next_paint: float = 0.0
    next_poll: float = 0.0
    is_working: bool = False
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def run(self) -> int:
        """Run until told to exit; returns the status."""
        signal.signal(signal.SIGTERM, _leave)
        if not os.isatty(0):
            signal.signal(signal.SIGINT, self.hear_interrupt)  # no terminal would make a key of it
        if self.options.ignores_term:
            self.ignore_term()
        time.sleep(self.options.boot_s)
        _write("stand-in agent, `help` lists what it does\n")
        with _raw_terminal():
            try:
                for command in self.options.first:
                    self.do(command)
                if self.options.works:
                    self.work_off()
                while True:
                    self.do(self.read_line())
            except SystemExit as leaving:
                return int(leaving.code or 0)

    def read_line(self) -> str:
        """Show the prompt, with what was typed so far, until Enter."""
        self.paint()
        while True:
            keys = _keys(self.until_next())
            for key in keys:
                if key in "\r\n":
                    line, self.typed = self.typed, ""
                    _write("\n")
                    return line
                if key == "\x04" and not self.typed:
                    raise SystemExit(0)
                self.typed = _edited(self.typed, key)
            if keys:
                self.paint()
            self.tick()

    def until_next(self) -> float | None:
        """Seconds until something other than a key is due."""
        due = [self.next_paint] if self.options.repaints else []
        due += [self.next_poll] if self.options.works and self.options.poll_s else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def tick(self) -> None:
        """Repaint and look for work when it is time; reap children that ended."""
        now = time.monotonic()
        self.children = [child for child in self.children if child.poll() is None]
        if self.options.repaints and now >= self.next_paint:
            self.paint()
            self.next_paint = now + 1.0
        if self.options.works and self.options.poll_s and now >= self.next_poll:
            self.work_off()
            self.next_poll = time.monotonic() + self.options.poll_s

    def paint(self) -> None:
        """Draw the input line again; the same text when nothing was typed."""
        _write(f"\r\x1b[K{self.options.prompt}{self.typed}")

    def do(self, line: str) -> None:
        """Do one command; anything unknown is answered."""
        name, _, rest = line.strip().partition(" ")
        todo: dict[str, Callable[[], None]] = {
            "": lambda: None,
            "help": lambda: _write(f"● {_HELP}\n"),
            "work": lambda: self.work(float(rest or 3)),
            "unknown": self.unknown,
            "background": lambda: self.background(["sleep", rest or "600"]),
            "run": lambda: self.background(shlex.split(rest)),
            "setsid": lambda: self.stubborn_child(rest or "600"),
            "fg": lambda: self.foreground(rest),
            "repaint": self.repaint,
            "ignore-term": self.ignore_term,
            "hook": self.work_off,
            "tell": lambda: self.tell(*shlex.split(rest)),
            "exit": lambda: _exit(int(rest or 0)),
        }
        if name in DIALOGS:
            self.hook("permission-asked", f"--what={name}", f"--question={name}?")
            self.dialog(name)
            self.hook("permission-answered")
        elif name in todo:
            todo[name]()
        else:
            self.work(0.3)
            _write(f"● done: {line.strip()}\n")

    def hear_interrupt(self, *_: object) -> None:
        """Stop working; at the prompt it means nothing."""
        if self.is_working:
            raise Interrupted

    def work(self, seconds: float) -> None:
        """Be busy, with a marker that goes away afterwards; Esc and Ctrl-C stop it."""
        self.hook("prompt-submitted")
        started = time.monotonic()
        self.is_working = True
        with contextlib.suppress(Interrupted):
            while (spent := time.monotonic() - started) < seconds:
                _write(f"\r\x1b[K✻ Working… ({int(spent)}s · esc to interrupt)")
                if set(_keys(min(0.5, seconds - spent))) & {"\x1b", "\x03"}:
                    raise Interrupted
            self.hook("turn-ended")  # one that is interrupted tells nobody
        self.is_working = False
        _write("\r\x1b[K")

    def dialog(self, name: str) -> None:
        """Ask and wait for a digit, Enter or Esc; the question goes away with the answer."""
        text, options, footer = DIALOGS[name]
        lines = [f"{'❯' if n == 1 else ' '} {n}. {option}" for n, option in enumerate(options, 1)]
        shown = "\n".join([RULE, text, *(f" {line}" for line in lines), "", footer])
        _write(f"{shown}\n")
        answers = {"\r", "\n", "\x1b", *map(str, range(1, len(options) + 1))}
        while not (given := set(_keys(None)) & answers):
            pass
        _write(f"\x1b[{shown.count(chr(10)) + 1}A\r\x1b[J● {name} answered\n")
        if name == "trust" and given & {"2", "\x1b"}:
            raise SystemExit(1)

    def unknown(self) -> None:
        """A full screen of a kind nobody knows; `q` leaves it."""
        _write("\x1b[?1049h\x1b[2J\x1b[H[ Inbox ]   [ Archive ]   [ Settings ]\n\n   three items\n")
        while "q" not in _keys(None):
            pass
        _write("\x1b[?1049l")

    def background(self, argv: Sequence[str], *, is_detached: bool = False) -> None:
        """Leave a child running and go back to the prompt."""
        self.children.append(
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=is_detached)
        )
        _write(f"● started {argv[0]} in the background\n")

    def stubborn_child(self, seconds: str) -> None:
        """A child in a session of its own that ignores TERM and HUP."""
        script = f"trap '' TERM HUP; sleep {shlex.quote(seconds)} & while :; do wait; sleep 1; done"
        self.background(["sh", "-c", script], is_detached=True)

    def foreground(self, command: str) -> None:
        """Hand the terminal to another program until it ends."""
        child = subprocess.Popen(["sh", "-c", command], process_group=0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, child.pid)
        child.wait()
        os.tcsetpgrp(0, os.getpgrp())

    def repaint(self) -> None:
        """From now on draw the same prompt once a second."""
        self.options.repaints = True

    def ignore_term(self) -> None:
        """From now on only SIGKILL ends it."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def work_off(self) -> None:
        """Claim, do and close work until there is none."""
        gc = shlex.split(os.environ.get("GC_BIN") or "gc")
        while True:
            claim = subprocess.run(
                [*gc, "hook", "--claim"], capture_output=True, text=True, check=False
            )
            if claim.returncode != 0 or not claim.stdout.split():
                return
            bead = claim.stdout.split()[0]
            _write(f"\r\x1b[K● working on {claim.stdout.strip()}\n")
            self.note("begin", bead)
            self.work(self.options.job_s)
            self.note("end", bead)
            for _ in range(CLOSE_TRIES):
                done = subprocess.run(
                    [*gc, "bead", "close", bead], capture_output=True, check=False
                )
                if done.returncode == 0:
                    _write(f"● closed {bead}\n")
                    break

    def hook(self, *words: str) -> None:
        """Call the hook for what happens, where hooks are on."""
        if self.options.hooks:
            self.tell(*words)

    def tell(self, *words: str) -> None:
        """What an agent CLI's hook does: one quick word to the controller."""
        gc = shlex.split(os.environ.get("GC_BIN") or "gc")
        subprocess.run([*gc, "agent-event", *words], stdin=subprocess.DEVNULL, check=False)

    def note(self, what: str, bead: str) -> None:
        """A line in the journal: `begin` or `end`, the job, who does it."""
        if self.options.journal:
            line = f"{what} {bead} {os.environ.get('GC_SESSION_NAME', '')}\n"
            with Path(self.options.journal).open("a", encoding="utf-8") as journal:
                journal.write(line)


def _keys(timeout_s: float | None) -> str:
    """What was typed within `timeout_s` seconds (None: for ever); Ctrl-D at the end of input."""
    ready, _, _ = select.select([0], [], [], timeout_s)
    if not ready:
        return ""
    return os.read(0, 4096).decode(errors="replace") or "\x04"


def _edited(text: str, key: str) -> str:
    if key in "\x7f\x08":
        return text[:-1]
    if key in "\x15\x03":
        return ""
    return text + key if key.isprintable() else text


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _leave(*_: object) -> None:
    _write("\ngoodbye\n")
    os._exit(0)


def _exit(status: int) -> None:
    raise SystemExit(status)


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    """Keys one by one and without echo, while output stays as it is."""
    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    flags = termios.tcgetattr(0)
    flags[3] &= ~termios.ISIG
    termios.tcsetattr(0, termios.TCSADRAIN, flags)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def main() -> int:
    """Run the stand-in in this terminal."""
    return StandIn(options=options_from(sys.argv[1:], os.environ)).run()


if __name__ == "__main__":
    sys.exit(main())
