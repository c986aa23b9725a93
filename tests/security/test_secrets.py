"""Marked secrets through a whole life, then everything searched for them: 0 hits (E8).

They are in agents' `env`, in a provider's, in one that is filled in from the controller's own
environment, in a command's own assignments, on screens and in a broken config. The life has a start
that fails, an agent that crashes, a question, a drift, and a controller killed with -9, also in the
middle of a start. The environments of the sessions themselves are where secrets belong.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from gascity.api.client import ControlError
from gascity.config.load import load_city
from gascity.runtimes.base import Spec
from gascity.runtimes.tmux import forget_starts, launch
from tests.integration.city import RealCity, agent, city_toml, needs_tmux, real_city, standin
from tests.polling import wait_until

COUNT: Final = 50
SECRETS: Final = tuple(f"canary{number:02d}-{os.getpid():x}-not-yours" for number in range(COUNT))
INHERITED: Final = "canaryHH-inherited-not-yours"
ALL: Final = (*SECRETS, INHERITED)


def env(*numbers: int) -> str:
    """An inline table of variables with these secrets."""
    pairs = ", ".join(f'KEY_{number} = "{SECRETS[number]}"' for number in numbers)
    return f"{{{pairs}}}"


def toml(*, extra: str = "", bad: bool = False) -> str:
    """The city; `extra` goes to the drifter's environment, `bad` breaks a table with a secret."""
    broken = f'[[agent]]\nname = "x"\nenv = {{TOKEN = ["{SECRETS[46]}"], OTHER = 1}}\n'
    return city_toml(
        f"[providers.mine]\ncommand = {json.dumps(standin())}\nenv = {env(*range(10))}\n",
        agent("mayor", sleep_after_idle="1s", idle_timeout="1h") + f"env = {env(*range(10, 20))}\n",
        f'[[agent]]\nname = "hired"\nprovider = "mine"\nenv = {env(*range(20, 25))}\n',
        # Assigned in the command itself: the value is in the shell's own words, not in ours.
        '[[agent]]\nname = "asker"\nstart_command = '
        + json.dumps(f"OPTION=$KEY_25; export OPTION; exec {standin()}")
        + f"\nenv = {env(*range(25, 30))}\n",
        f'[[agent]]\nname = "borrower"\nstart_command = {json.dumps(standin())}\n'
        'env = {MINE = "$OUTER_SECRET", ALSO = "x${OUTER_SECRET}y"}\n',
        # Fails at once, and says its secrets on its way out.
        '[[agent]]\nname = "failing"\nstart_command = "env; exit 3"\n'
        f"env = {env(*range(30, 36))}\n",
        f'[[agent]]\nname = "unfound"\nstart_command = "$KEY_36 --flag"\nenv = {env(36, 37)}\n',
        # Comes up, shows its secrets, and dies a little later.
        '[[agent]]\nname = "crasher"\nstart_command = "env; sleep 1; env; exit 1"\n'
        f"env = {env(*range(38, 42))}\n",
        '[[agent]]\nname = "drifter"\nstart_command = '
        + json.dumps(standin())
        + f'\nenv = {{D_KEY = "{SECRETS[42]}", E_KEY = "{extra}"}}\n',
        '[[agent]]\nname = "pool"\nstart_command = "true"\n'
        f"env = {env(44)}\n[agent.pool]\nmin = 0\nmax = 1\n"
        "check = 'echo \"$KEY_44 $OUTER_SECRET\"; exit 1'\n",
        broken if bad else "",
    )


class Watcher:
    """Looks at every command line of the machine, again and again, for secrets."""

    def __init__(self) -> None:
        self.hits: set[str] = set()
        self.looks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            self.looks += 1
            for folder in Path("/proc").iterdir():
                if folder.name.isdigit():
                    with contextlib.suppress(OSError):
                        line = (folder / "cmdline").read_bytes()
                        if b"canary" in line and found(line):
                            self.hits.add(line.replace(b"\0", b" ").decode(errors="replace"))
            time.sleep(0.001)


def found(data: bytes) -> list[str]:
    """The secrets that are in it."""
    return [one for one in ALL if one.encode() in data]


@pytest.fixture(scope="module")
def told() -> dict[str, bytes]:
    """Everything commands printed."""
    return {}


@pytest.fixture(scope="module")
def watcher() -> Watcher:
    """The one that watched the whole life."""
    return Watcher()


@pytest.fixture(scope="module")
def city(told: dict[str, bytes], watcher: Watcher) -> Iterator[RealCity]:
    """The life. What it leaves is searched by the tests."""
    with watcher, real_city(toml(), OUTER_SECRET=INHERITED) as one:
        one.start()
        for name in ("mayor", "hired", "asker", "borrower", "drifter"):
            one.wait_up(name)
        wait_until(lambda: one.session("failing").get("state"), timeout_s=20)
        wait_until(
            lambda: any("ended at once" in json.dumps(e) for e in one.events()), timeout_s=30,
            what="a failed start is told",
        )  # fmt: skip
        wait_until(lambda: one.events("session.crashed", session="crasher"), timeout_s=30)
        one.ask("nudge", session="asker", text="permission")
        one.ask("nudge", session="hired", text="say hello")
        say(one, told, "life")
        one.configure(toml(extra=SECRETS[43]))
        one.gc("config", "validate")
        one.patrol(3)
        one.configure(toml(extra=SECRETS[43], bad=True))
        one.patrol(3)
        wait_until(lambda: one.events("controller.config_rejected"), timeout_s=20)
        say(one, told, "rejected")
        one.configure(toml(extra=SECRETS[43]))
        one.kill9()
        say(one, told, "offline")
        one.start()
        one.gc("session", "kill", "hired")
        threading.Timer(0.05, one.kill9).start()  # in the middle of the start that follows
        wait_until(lambda: one.pid() == 0, timeout_s=20)
        told["files after a kill in the middle"] = b"".join(read(p) for p in files(one))
        one.start()
        one.patrol(2)
        say(one, told, "end")
        yield one


def say(city: RealCity, told: dict[str, bytes], when: str) -> None:
    """Run what tells something: commands, and with a controller the objects behind them."""
    for words in (
        ("status", "--json"), ("events", "--json"), ("bead", "list", "--json"), ("doctor",),
        ("config", "validate", "--json"), ("config", "show"), ("config", "explain", "drifter"),
        ("why", "failing"),
    ):  # fmt: skip
        ran = city.gc(*words)
        told[f"{when}: gc {' '.join(words)}"] = (ran.out + ran.err).encode()
    if city.pid():
        names = ("asker", "unfound", "crasher", "drifter", "pool-1", "hired", "borrower")
        asked = [("why", {"session": name}) for name in names]
        asked += [("bead", {"id": bead["id"]}) for bead in city.ask("beads")["beads"]]
        for op, fields in (*asked, ("messages", {"all": True}), ("waits", {}), ("config", {})):
            with contextlib.suppress(ControlError):
                reply = city.ask(op, **fields)
                told[f"{when}: {op} {fields}"] = json.dumps(reply).encode()


def files(city: RealCity) -> list[Path]:
    """Every file the city wrote: all of its folder but the config."""
    return [
        path
        for path in city.path.rglob("*")
        if path.is_file() and not path.name.startswith("city.toml")
    ]


def read(path: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


@pytest.mark.slow
@pytest.mark.timeout(180)
class TestLife:
    """0 hits."""

    pytestmark = needs_tmux

    def test_sessions_were_given_their_secrets(self, city: RealCity) -> None:
        """The canaries were alive: else nothing was proven (E8, R69)."""
        pids = city.tree("drifter")
        assert any(found(read(Path(f"/proc/{pid}/environ"))) for pid in pids)
        borrowed = [read(Path(f"/proc/{pid}/environ")) for pid in city.tree("borrower")]
        assert any(INHERITED.encode() in one for one in borrowed)

    def test_no_file_of_the_city_holds_one(self, city: RealCity) -> None:
        """Store, write-ahead log, mirror, controller's log, lock (E8)."""
        hits = {path.name: found(read(path)) for path in files(city)}
        assert {name: one for name, one in hits.items() if one} == {}
        assert {"gascity.db", "events.jsonl", "controller.log"} <= hits.keys()

    def test_no_command_tells_one(self, city: RealCity, told: dict[str, bytes]) -> None:
        """Status, why, events, beads, doctor, config: with and without a controller (E8)."""
        hits = {words: found(data) for words, data in told.items()}
        assert {words: one for words, one in hits.items() if one} == {}
        assert len(told) > 40

    def test_no_command_line_ever_showed_one(self, city: RealCity, watcher: Watcher) -> None:
        """Of everything that ran on the machine meanwhile (E8).

        An agent whose own command puts a secret among its words is the exception its author made.
        """
        made_so = {line for line in watcher.hits if line.startswith(SECRETS[36])}
        assert watcher.hits - made_so == set()
        assert watcher.looks > 50

    def test_nothing_is_left_in_memory_folders(self, city: RealCity) -> None:
        """A start that kill -9 cut off leaves no secrets once a controller is up again (E8)."""
        left = [
            path
            for folder in ("/dev/shm", tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""))
            if folder
            for path in Path(folder).glob("gc-start-*")
            if found(read(path))
        ]
        assert left == []

    def test_tmux_knows_none(self, city: RealCity) -> None:
        """Neither the server's environment nor any option holds one (E8)."""
        said = city.tmux("show-environment", "-g")
        for name in city.hosted():
            said += city.tmux("show-environment", "-t", f"={name}:")
            said += city.tmux("show-options", "-t", f"={name}:")
        assert found(said.encode()) == []


def test_what_a_killed_controller_left_is_removed_and_no_other_citys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a start that was cut off goes with that city's next controller (E8)."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    spec = Spec(
        name="a", session_id="i", token="t", city="/c/one", command="x", work_dir="/",
        env={"K": SECRETS[0]},
    )  # fmt: skip
    ours = launch.EnvironmentFile(None, spec)
    other = launch.EnvironmentFile(None, replace(spec, city="/c/two"))
    assert ours.path.parent == other.path.parent == tmp_path
    assert ours.path.stat().st_mode & 0o777 == 0o600
    forget_starts("/c/one")
    assert not ours.path.exists()
    assert other.path.exists()


def test_a_rejected_config_is_told_without_its_values(tmp_path: Path) -> None:
    """Whatever is wrong with an `env`, its values are not in the message (E8)."""
    secret = SECRETS[0]
    for line in (
        f'env = {{TOKEN = ["{secret}"]}}', f'env = "{secret}"', f'env = [["{secret}"]]',
        f'env = {{TOKEN = {{X = "{secret}"}}}}', f'[agent.env]\nTOKEN = ["{secret}"]',
        f'env.TOKEN = ["{secret}"]', f'env = {{TOKEN = "{secret}"',
        f'env = {{TOKEN = "{secret}\\q"}}',
        f'env = {{A = "{secret}", A = "{secret}"}}',
    ):  # fmt: skip
        own = f'[workspace]\nname = "t"\n[[agent]]\nname = "a"\nstart_command = "x"\n{line}\n'
        (tmp_path / "city.toml").write_text(own)
        result = load_city(tmp_path)
        assert result.city is None, line
        assert not [str(p) for p in result.problems if secret in f"{p} {p.as_dict()}"], line
