"""The runtimes of one city on this machine: each made when the first session asks for it.

Source: DESIGN "The tree" (R6c, R67, R72)
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gascity.model.city import City
from gascity.observe.commands import NOT_OURS
from gascity.runtimes.base import Runtime
from gascity.runtimes.exec import KIND, ExecRuntime, Script, find_script
from gascity.runtimes.subprocess import SubprocessRuntime
from gascity.runtimes.tmux import ServerId, TmuxRuntime, default_socket

STATE: Final = ".gc"


class Hosts(Mapping[str, Runtime]):
    """{kind: runtime}. Looking one up makes it; going over it shows those made so far."""

    def __init__(
        self,
        city: City,
        *,
        known_server: ServerId | None = None,
        on_server: Callable[[ServerId], None] = lambda _: None,
    ) -> None:
        self._city = city
        self._known_server = known_server
        self._on_server = on_server
        self._made: dict[str, Runtime] = {}
        self._makers: Mapping[str, Callable[[], Runtime]] = {
            "tmux": self._tmux,
            "subprocess": self._subprocess,
            **({"acp": self._acp} if find_spec("acp") is not None else {}),
        }

    def __getitem__(self, kind: str) -> Runtime:
        if kind not in self._made:
            is_script = kind.startswith(KIND) and kind != KIND
            self._made[kind] = self._script(kind) if is_script else self._makers[kind]()
        return self._made[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def why_absent(self, kind: str) -> str:
        """What follows "there is no runtime KIND here"."""
        if kind == "acp":
            return ": it needs the extra, pip install 'gascity[acp]'"
        return f"; there are {', '.join(sorted(self._makers))} and {KIND}SCRIPT"

    def _tmux(self) -> Runtime:
        city = self._city
        return TmuxRuntime(
            city.session.socket or default_socket(city.name, Path(city.path)),
            city=city.path,
            tmux_config=city.session.tmux_config,
            known_server=self._known_server,
            on_server=self._on_server,
        )

    def _subprocess(self) -> Runtime:
        folder = Path(self._city.path) / STATE / "subprocess"
        return SubprocessRuntime(folder, city=self._city.path)

    def _acp(self) -> Runtime:
        """Loaded when a session wants it: its library is large."""
        from gascity.runtimes.acp import AcpRuntime

        return AcpRuntime(Path(self._city.path) / STATE / "acp", city=self._city.path)

    def _script(self, kind: str) -> Runtime:
        """One runtime a script; what it is called with is the controller's environment (R69)."""
        said, folder = kind.removeprefix(KIND), Path(self._city.path)
        env = {key: value for key, value in os.environ.items() if not NOT_OURS.fullmatch(key)}
        script = Script(
            path=find_script(said, folder), cwd=self._city.path, env={**env, "GC_CITY": str(folder)}
        )
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        lore = folder / STATE / "exec" / f"{digest}.json"
        return ExecRuntime(script, said=said, city=self._city.path, lore=lore)
