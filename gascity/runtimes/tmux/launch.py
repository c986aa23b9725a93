"""How a session comes up: its environment by a file of ours, everything else in one tmux batch.

tmux would put the values on a command line, or mix them with what the server inherited, so the
pane starts with an empty environment and reads a 0600 file that empties itself before the agent's
command runs. Name, mark and token are set in the batch that makes the session: it is never seen
without them, and a name that is taken makes the whole batch fail.

Source: DESIGN §8 (R63, R67, R69)
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Final

from gascity.runtimes.base import RuntimeUnreachable, Spec
from gascity.runtimes.starting import environment
from gascity.runtimes.tmux.client import literal, quoted
from gascity.runtimes.tmux.format import mark_of

SIZE: Final = (200, 50)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TMUX_OWN: Final = ("TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
_OPENING: Final = (
    "exec /usr/bin/env -i " + " ".join(f'{name}="${name}"' for name in _TMUX_OWN) + ' /bin/sh "$0"'
)
_SERVER_OPTIONS: Final = ("set-option -s exit-empty on", "set-option -s exit-unattached off")
_LOOKS: Final = (
    "set-option -g history-limit 5000",
    "set-option -g status-interval 0",
    "set-option -g mouse off",
    "set-option -g visual-activity off",
    "set-option -g default-terminal screen-256color",
    "set-option -s escape-time 20",
)
_SESSION_OPTIONS: Final = (
    ("destroy-unattached", "off"),
    ("remain-on-exit", "on"),
    ("allow-rename", "off"),
    ("automatic-rename", "off"),
    ("window-size", "latest"),
    ("monitor-activity", "off"),
)


class EnvironmentFile:
    """The 0600 file that the session reads its environment and command from, once."""

    def __init__(self, folder: Path | None, spec: Spec) -> None:
        try:
            handle, name = tempfile.mkstemp(prefix=_prefix(spec.city), dir=folder or _folders()[0])
            self.path = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(opening_script(spec, self.path))
        except OSError as problem:
            raise RuntimeUnreachable(f"no room for its environment: {problem.strerror}") from None

    @property
    def is_read(self) -> bool:
        """Whether the session has taken it."""
        try:
            return self.path.stat().st_size == 0
        except FileNotFoundError:
            return True

    def remove(self) -> None:
        """Leave nothing behind; a session that comes up later than this finds no command."""
        self.path.unlink(missing_ok=True)


def forget_starts(city: str) -> None:
    """Remove what a controller of this city left behind that was killed in the middle of a start.

    Called by whoever holds the city, before its first start (E8).
    """
    for folder in _folders():
        for left in folder.glob(f"{_prefix(city)}*"):
            with contextlib.suppress(OSError):
                left.unlink()


def opening_script(spec: Spec, path: Path) -> str:
    """Read as a whole, then emptied, then the command: one group, so nothing is read twice.

    It goes to the work dir by itself: tmux expands formats in the folder it is given, and goes
    elsewhere without a word when that makes another name of it.
    """
    env = environment(spec)
    exports = [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(env.items())
        if _VARIABLE.fullmatch(name) and name not in _TMUX_OWN
    ]
    steps = [
        *exports,
        f": > {shlex.quote(str(path))}",
        f"cd -P -- {shlex.quote(spec.work_dir)} || exit",
        "unset OLDPWD",
        f"exec /bin/sh -c {shlex.quote(spec.command)}",
    ]
    return "{\n" + "\n".join(steps) + "\n}\n"


def _prefix(city: str) -> str:
    return f"gc-start-{mark_of(city)}-"


def _folders() -> list[Path]:
    """Folders for a file of a moment, the best first: ones that are never written to a disk."""
    memory = [Path(name) for name in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm") if name]
    return [*(one for one in memory if os.access(one, os.W_OK)), Path(tempfile.gettempdir())]


def batch(spec: Spec, file: Path, *, boots: bool, tmux_config: str) -> list[str]:
    """The commands that make the session; `boots` when this call starts the server too."""
    lines = list(_LOOKS) if boots else []
    if boots and tmux_config:
        lines.append(f"source-file -q {quoted(literal(tmux_config))}")
    lines += _SERVER_OPTIONS
    target = f"-t ={spec.name}:"
    options = (
        ("@gc_mark", mark_of(spec.city)),
        ("@gc_city", spec.city),
        ("@gc_token", spec.token),
        ("@gc_session_id", spec.session_id),
        *_SESSION_OPTIONS,
    )
    make = (
        f"new-session -d -E -s {spec.name} -x {SIZE[0]} -y {SIZE[1]} "
        f"-c {quoted(literal(spec.work_dir))} -- /bin/sh -c {quoted(_OPENING)} {quoted(str(file))}"
    )
    steps = [
        make,
        f"set-option {target} -F @gc_pane '#{{pane_id}}'",
        *(f"set-option {target} {name} {quoted(value)}" for name, value in options),
    ]
    return [*lines, " ; ".join(steps)]
