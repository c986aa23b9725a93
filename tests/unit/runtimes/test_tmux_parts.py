"""The parts of the tmux adapter that need no server: reading, quoting, identity, environment."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gascity.model.world import Exit
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable, Spec, StartFailed
from gascity.runtimes.starting import check
from gascity.runtimes.tmux import ServerId, launch
from gascity.runtimes.tmux.client import client_environment, literal, quoted, socket_path
from gascity.runtimes.tmux.format import mark_of, read_captures, read_host

PANE: Final = "P|77|$1|%1|4711|0|||100|90|%1|mark|tok|worker-1"
END: Final = "E|77"


def test_panes_and_clients_become_sessions() -> None:
    """People are counted, observers are not; the agent's pane is known (R12)."""
    second = PANE.replace("%1|4711", "%2|4712")
    host = read_host(f"{PANE}\n{second}\nC|0|worker-1\nC|1|worker-1\n{END}")
    hosted = host.sessions["worker-1"]
    assert (host.server_pid, hosted.attached, hosted.agent.pid) == (77, 1, 4711)
    assert [pane.pid for pane in hosted.panes] == [4711, 4712]


def test_a_name_may_hold_the_separator() -> None:
    """A foreign session may be called anything (R37)."""
    host = read_host(f"{PANE}|x\nC|0|worker-1|x\n{END}")
    assert host.sessions["worker-1|x"].attached == 1


@pytest.mark.parametrize(
    ("dead", "end"),
    [("1|7||", Exit(code=7)), ("1||9|", Exit(signal=9)), ("1||KILL|", Exit(signal=9))],
)
def test_a_dead_pane_tells_how(dead: str, end: Exit) -> None:
    """Status and signal, as number or name (R11)."""
    host = read_host(f"{PANE}\n{END}".replace("0|||", dead))
    assert host.sessions["worker-1"].agent.exit == end
    assert host.sessions["worker-1"].live == ()


@pytest.mark.parametrize(
    "out",
    [
        "nonsense", "P|1|2", "C|0", f"{PANE}\nP|x", "", "\n", "C|0|a", PANE, END, "E|x",
        f"{PANE}\nE|78", f"{PANE}\n{END}\n{PANE}", f"{PANE}\nC|0|worker-1\n",
    ],
)  # fmt: skip
def test_a_garbled_answer_is_unclear(out: str) -> None:
    """What cannot be read proves nothing about anybody (R10)."""
    with pytest.raises(RuntimeUnreachable, match="garbled"):
        read_host(out)


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_answer_is_read_or_unclear(out: str) -> None:
    """No answer makes the reader fail otherwise (R10)."""
    with contextlib.suppress(RuntimeUnreachable):
        read_host(out)


def test_captures_are_told_apart_by_a_word_of_ours() -> None:
    """A pane that prints something like a heading does not become another pane."""
    out = "w1|%1|1|2|0|0|100|title | x\nhello\nw2|%9|1|0|0|0|5|t\n\nw1|%2|0|0|0|1|101|\nbye\n"
    found = read_captures("w1", out)
    assert set(found) == {"%1", "%2"}
    screen, activity = found["%1"]
    assert (screen.cursor, activity, screen.title) == ((2, 0), 100, "title | x")
    assert found["%2"][0].is_alternate
    assert found["%2"][0].cursor is None


@given(st.text(max_size=80))
@settings(deadline=None)
def test_quoted_text_is_one_plain_line(text: str) -> None:
    """Whatever is quoted stays one word on one line, without a sign that tmux would read."""
    inner = quoted(text)[1:-1]
    assert inner.isascii()
    assert not set(inner) & set("\n\"$#;{}'`")
    assert bytes(inner, "ascii").decode("unicode_escape").encode("latin-1") == text.encode()


def test_formats_are_taken_literally() -> None:
    """A path with a `#` in it is that path."""
    assert literal("/a/#{pid}") == "/a/##{pid}"


def test_a_server_is_known_by_pid_and_start(tmp_path: Path) -> None:
    """The same pid at another time is another server (R10)."""
    me = ServerId.of(tmp_path / "s ock", os.getpid())
    assert me is not None
    assert me.is_alive
    assert ServerId.parse(str(me)) == me
    assert not ServerId(socket=me.socket, pid=me.pid, started="0-1").is_alive
    assert ServerId.parse("") is None
    assert ServerId.parse("a b c") is None


def test_a_client_is_given_the_person_and_a_utf8_locale() -> None:
    """No secret reaches the server's own environment; a missing locale is set (R67)."""
    found = client_environment({"PATH": "/bin", "API_KEY": "x", "LANG": "C", "TMUX": "y"})
    assert found == {"PATH": "/bin", "LANG": "C", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    assert "LC_ALL" not in client_environment({"LANG": "de_DE.utf8"})


def test_the_socket_is_where_tmux_would_put_it(tmp_path: Path) -> None:
    """Below TMUX_TMPDIR, in the person's folder; a path is taken as it is."""
    folder = tmp_path.resolve() / f"tmux-{os.getuid()}"
    assert socket_path("x", {"TMUX_TMPDIR": str(tmp_path)}) == folder / "x"
    assert socket_path("/a/b", {}) == Path("/a/b")


def spec(**changes: object) -> Spec:
    fields: dict[str, object] = {
        "name": "worker",
        "session_id": "id",
        "token": "tok",
        "city": "/c",
        "command": "env -0",
        "work_dir": "/",
        "env": {},
    }
    return Spec(**{**fields, **changes})  # type: ignore[arg-type]


HOSTILE: Final = {"A": "x\ny", "B": "it's $HOME `id` \\", "C": "", "D": "é\u00a0\t#{pid}"}


def test_the_environment_is_read_by_a_real_shell(tmp_path: Path) -> None:
    """Values survive whatever they hold, and the file is empty before the command runs (R69)."""
    file = launch.EnvironmentFile(tmp_path, spec(env={**HOSTILE, "no-name": "x", "TMUX": "z"}))
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert not file.is_read
    done = subprocess.run(
        ["/bin/sh", str(file.path)], env={}, capture_output=True, check=True, timeout=10
    )
    found = dict(item.split("=", 1) for item in done.stdout.decode().split("\0") if item)
    assert {key: found[key] for key in HOSTILE} == HOSTILE
    assert found["GC_INSTANCE_TOKEN"] == "tok"
    assert "TMUX" not in found
    assert file.is_read
    file.remove()
    assert file.is_read


@pytest.mark.parametrize(
    "changes",
    [{"name": "a.b"}, {"name": "-x"}, {"token": "a b"}, {"work_dir": "/none"}, {"command": "\0"}],
)
def test_what_cannot_be_hosted_is_refused(changes: dict[str, object]) -> None:
    """Names that tmux would change, tokens it cannot compare, no such folder (R45)."""
    with pytest.raises(StartFailed):
        check(spec(**changes))


def test_the_batch_holds_no_value_of_the_environment() -> None:
    """Names, paths and options only; a taken name fails the whole line (R63)."""
    lines = launch.batch(
        spec(env={"KEY": "canary"}), Path("/f"), boots=True, tmux_config="/x/my conf"
    )
    assert not [line for line in lines if "canary" in line or "\n" in line]
    assert lines[-1].startswith("new-session -d -E -s worker ")
    assert f"@gc_mark {quoted(mark_of('/c'))}" in lines[-1]
    assert any(line.startswith("source-file -q") for line in lines)


def test_processes_are_held_by_pid_and_start() -> None:
    """A process that ended, or whose pid is another's, cannot be taken hold of (R63)."""
    child = subprocess.Popen(["sleep", "600"])
    seen = processes.read(child.pid)
    assert seen is not None
    assert child.pid in processes.descendants([os.getpid()], processes.table())
    held = processes.Held.take(seen)
    assert held is not None
    child.kill()
    child.wait(timeout=10)
    assert held.is_over
    held.close()
    assert processes.Held.take(seen) is None


def test_this_process_and_its_ancestors_are_never_part_of_a_tree() -> None:
    """A controller that was started inside a session does not end itself (R37)."""
    parent = processes.read(os.getppid())
    assert parent is not None
    found = processes.tree([parent], "", [])
    assert os.getpid() not in found
    assert os.getppid() not in found
