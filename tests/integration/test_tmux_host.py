"""The tmux host itself: gone or unreachable, foreign sessions, clients, calls, secrets.

R10, R12, R37, R45, R67 on a real server.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from gascity.model.reading import Known
from gascity.model.world import Truth
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable, StartFailed, Watch
from gascity.runtimes.tmux import ServerId, TmuxRuntime, default_socket
from tests.integration.rig import CITY, TmuxRig, attached_to, terminal
from tests.polling import eventually, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.tmux]


def is_gone(pid: int) -> bool:
    """Whether the process has ended."""
    found = processes.read(pid)
    return found is None or found.is_over


async def test_a_killed_server_took_its_sessions_with_it(tmux: TmuxRig) -> None:
    """The server's process is gone, so every session on it is stopped, for that reason (R10)."""
    await tmux.start("worker")
    pid = tmux.server_pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid))
    seen = await tmux.see("worker")
    assert seen.truth is Truth.STOPPED
    assert seen.exit is not None
    assert seen.exit.host_gone


async def test_a_lost_socket_is_unclear_while_its_server_lives(tmux: TmuxRig) -> None:
    """Without a socket the sessions may still run: no answer, no second server (R10)."""
    await tmux.start("worker")
    tmux.socket.unlink()
    with pytest.raises(RuntimeUnreachable, match="USR1"):
        await tmux.see("worker")
    with pytest.raises(RuntimeUnreachable):
        await tmux.runtime.start(tmux.spec("other"))
    os.kill(tmux.server_pid, signal.SIGUSR1)
    wait_until(tmux.socket.exists)
    assert (await tmux.see("worker")).truth is Truth.RUNNING


async def test_a_restarted_controller_knows_the_lost_server(tmux: TmuxRig) -> None:
    """The stored identity makes the difference between certain and unclear (R10)."""
    await tmux.start("worker")
    stored = str(tmux.runtime.server)
    tmux.socket.unlink()
    forgetful = tmux.again()
    assert (await forgetful.list([Watch(name="worker")])).sightings["worker"].truth is Truth.STOPPED
    with pytest.raises(RuntimeUnreachable):
        await tmux.again(known_server=ServerId.parse(stored)).list([Watch(name="worker")])


async def test_a_second_server_on_the_socket_does_not_prove_absence(tmux: TmuxRig) -> None:
    """Sessions of an earlier server that lives on are unknown, whoever answers now (R10)."""
    await tmux.start("worker")
    tmux.socket.unlink()
    other = tmux.again()
    await other.start(tmux.spec("other"))
    seen = await tmux.see("worker")
    assert seen.truth is Truth.UNKNOWN
    assert str(tmux.server_pid) in seen.why


async def test_another_tmux_tmpdir_is_unclear(tmux: TmuxRig, tmp_path: Path) -> None:
    """A server that is looked for in another place still runs its sessions (R10)."""
    await tmux.start("worker")
    moved = TmuxRuntime(str(tmp_path / "elsewhere"), city=CITY, known_server=tmux.runtime.server)
    with pytest.raises(RuntimeUnreachable, match="TMUX_TMPDIR"):
        await moved.list([Watch(name="worker")])


async def test_a_socket_that_is_not_ours_to_open_is_unclear(
    tmux: TmuxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tmux that cannot be run, or one that is too old, is no proof of absence (R10, R67)."""
    old = tmux.folder / "tmux"
    old.write_text("#!/bin/sh\necho tmux 3.1c\n", encoding="utf-8")
    old.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmux.folder), prepend=os.pathsep)
    with pytest.raises(RuntimeUnreachable, match=r"3\.2 or newer is needed, found tmux 3\.1c"):
        await tmux.see("worker")


@pytest.mark.slow
async def test_a_hung_server_costs_one_deadline_each_and_one_client_at_a_time(
    tmux: TmuxRig,
) -> None:
    """Calls that wait for their turn fail within their own deadline; none is left behind (R34)."""
    await tmux.start("worker")
    with tmux.hung():
        started = time.monotonic()

        async def ask() -> None:
            with pytest.raises(RuntimeUnreachable):
                await tmux.see("worker")

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
        assert time.monotonic() - started < 3.0
        wait_until(lambda: not clients(), 1.0)
    assert (await tmux.see("worker")).truth is Truth.RUNNING


@pytest.mark.slow
async def test_a_late_command_of_a_hung_server_is_fenced(tmux: TmuxRig) -> None:
    """What a server executes after it was given up on reaches no other run (R63)."""
    token = await tmux.start("worker")
    with tmux.hung(), pytest.raises(RuntimeUnreachable):
        await tmux.runtime.start(tmux.spec("late"))
    assert (await tmux.see("worker")).token == token

    async def late() -> bool:
        return (await tmux.see("late")).truth is Truth.STOPPED

    await eventually(late)


async def test_foreign_sessions_are_shown_and_never_touched(tmux: TmuxRig) -> None:
    """A session without the city's mark is neither adopted, stopped, typed into nor replaced."""
    await tmux.start("worker")
    tmux.tmux("new-session", "-d", "-s", "theirs", "cat")
    listing = await tmux.runtime.list([Watch(name="theirs", screen=True)])
    assert listing.foreign == ("theirs",)
    assert listing.sightings["theirs"].truth is Truth.STOPPED
    assert "not ours" in listing.sightings["theirs"].why
    await tmux.runtime.stop("theirs", token="", grace_s=0.0)
    with pytest.raises(RuntimeUnreachable):
        await tmux.runtime.send("theirs", "x", token="")
    with pytest.raises(StartFailed, match="not ours"):
        await tmux.runtime.start(tmux.spec("theirs"))
    assert not is_gone(tmux.pid("theirs"))


async def test_another_city_on_the_same_server_is_foreign(tmux: TmuxRig) -> None:
    """The mark is the city's path: two cities on one server do not see each other (R37)."""
    await tmux.start("worker")
    other = tmux.again(city="/cities/other")
    listing = await other.list([Watch(name="worker")])
    assert (listing.foreign, listing.sightings["worker"].truth) == (("worker",), Truth.STOPPED)


async def test_observers_in_control_mode_are_not_attached(tmux: TmuxRig) -> None:
    """A control-mode client is a program that looks, not a person (R12)."""
    await tmux.start("worker")
    with terminal(["tmux", "-S", str(tmux.socket), "-C", "attach-session", "-t", "=worker"]):
        wait_until(lambda: tmux.tmux("list-clients"))
        assert attached_to(await tmux.see("worker")) == 0
        with tmux.attached("worker"):
            assert attached_to(await tmux.see("worker")) == 1


async def test_switching_inside_the_server_attaches(tmux: TmuxRig) -> None:
    """A person inside one session can be moved to another, exactly named (R45)."""
    await tmux.start("worker-1")
    await tmux.start("worker-10")
    with tmux.attached("worker-10"):
        argv = tmux.runtime.switch_command("worker-1")
        tmux.tmux(*argv[argv.index("switch-client") :])
        assert attached_to(await tmux.see("worker-1")) == 1
        assert attached_to(await tmux.see("worker-10")) == 0


@pytest.mark.parametrize("count", [1, 12])
async def test_a_look_costs_a_constant_number_of_calls(tmux: TmuxRig, count: int) -> None:
    """Two tmux processes at most, screens included, and one once nothing is written any more."""
    names = [f"worker-{n}" for n in range(count)]
    for name in names:
        await tmux.runtime.start(tmux.spec(name, command="printf '❯ '; exec cat"))
    watches = [Watch(name=name, screen=True) for name in names]

    async def settled() -> bool:
        before = tmux.runtime.calls
        listing = await tmux.runtime.list(watches)
        assert tmux.runtime.calls - before <= 2
        assert len(listing.sightings) == count
        return tmux.runtime.calls - before == 1

    await eventually(settled)


async def test_a_users_configuration_cannot_kill_detached_sessions(tmux: TmuxRig) -> None:
    """`destroy-unattached` and the like in a sourced file do not hold for our sessions (R67)."""
    config = tmux.folder / "looks.conf"
    config.write_text(
        "set -g destroy-unattached on\nset -s exit-unattached on\nset -g remain-on-exit off\n"
        "set -g status-style bg=red\n",
        encoding="utf-8",
    )
    tmux.runtime = tmux.again(tmux_config=str(config))
    await tmux.start("worker")
    with tmux.attached("worker"):
        pass
    assert (await tmux.see("worker")).truth is Truth.RUNNING
    assert "red" in tmux.tmux("show-options", "-gv", "status-style")


async def test_the_environment_is_the_given_one_and_nowhere_on_a_command_line(
    tmux: TmuxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, exact, newline-safe; neither the server's nor the controller's leaks in (R69)."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("LEAK", "controller")
    secret = "canary-5f3a\n'\"$HOME `id` #{pid} é"
    await tmux.start("first")
    tmux.tmux("set-environment", "-g", "LEAK", "server")
    spec = tmux.spec("worker", env={"SECRET": secret, "EMPTY": "", "SHELL": "/bin/none"})
    seen: set[bytes] = set()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_command_lines, seen)
        await tmux.runtime.start(spec)
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    pid = tmux.pid("worker")
    raw = (processes.PROC / str(pid) / "environ").read_bytes().decode()
    found = dict(item.split("=", 1) for item in raw.split("\0") if item)
    own = {"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "PWD"}
    assert {key: value for key, value in found.items() if key not in own} == dict(spec.env)
    assert found["TMUX"].startswith(f"{tmux.socket},{tmux.server_pid},")
    assert found["TERM"].startswith("screen")
    assert not [line for line in seen if b"canary" in line]
    assert [path for path in tmux.folder.iterdir() if path.name.startswith("gc-start")] == []


def clients() -> list[processes.Process]:
    """Our own tmux clients that have not ended."""
    mine = [one for one in processes.table().values() if one.parent == os.getpid()]
    return [one for one in mine if "tmux" in one.name and not one.is_over]


async def watch_command_lines(seen: set[bytes]) -> None:
    """Every command line that shows itself while this runs."""
    while True:
        for pid in processes.table():
            try:
                seen.add((processes.PROC / str(pid) / "cmdline").read_bytes())
            except OSError:
                continue
        await anyio.lowlevel.checkpoint()


async def test_the_command_goes_to_the_shell_unchanged(tmux: TmuxRig) -> None:
    """Quotes, variables, several lines and signs that tmux would read arrive as written (R69)."""
    out = tmux.folder / "out"
    command = f"""printf '%s|' "$WORD" '#{{pid}}' '~' "it's" ';' > {out}
printf '❯ '
exec cat"""
    await tmux.start("worker", command=command, env={"WORD": "two words"})
    wait_until(out.exists)
    assert out.read_text(encoding="utf-8") == "two words|#{pid}|~|it's|;|"


async def test_a_bad_work_dir_or_name_is_a_failed_start(tmux: TmuxRig) -> None:
    """What tmux would silently replace is refused (R45)."""
    with pytest.raises(StartFailed, match="work dir"):
        await tmux.runtime.start(tmux.spec("worker", work_dir="/no/such/folder"))
    for name in ("a.b", "a:b", "-a", "", "a b"):
        with pytest.raises(StartFailed, match="name"):
            await tmux.runtime.start(tmux.spec(name))


async def test_a_session_is_large_enough_to_read(tmux: TmuxRig) -> None:
    """A detached session has room for footers and dialogs."""
    await tmux.start("worker")
    size = tmux.tmux("display-message", "-p", "-t", "=worker:", "#{pane_width} #{pane_height}")
    assert size == "200 50"


async def test_the_server_is_reported_once(tmux: TmuxRig) -> None:
    """The controller is told which server to remember, and again only when that changes (R67)."""
    told: list[ServerId] = []
    runtime = tmux.again(on_server=told.append)
    await tmux.start("worker")
    for _ in range(2):
        listing = await runtime.list([Watch(name="worker")])
        assert listing.sightings["worker"].attached == Known(0)
    assert told == [tmux.runtime.server]
    assert ServerId.parse(str(told[0])) == told[0]


def test_the_default_socket_is_the_folders_own(tmp_path: Path) -> None:
    """Two cities of one name in two folders have two servers (R67)."""
    one, two = default_socket("demo", tmp_path / "a"), default_socket("demo", tmp_path / "b")
    assert one != two
    assert one.startswith("gc-demo-")
    assert len(one) == len("gc-demo-") + 6
