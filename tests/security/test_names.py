"""No text becomes a command: hostile names, titles, messages, folders, values (E4, R45, R69).

Every path that reaches tmux or a shell is driven with 10,000 texts that try to leave a mark.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from gascity.act.launch import build_command, build_spec, expand_template, transcript_path
from gascity.api.client import ControlError
from gascity.config.load import load_city
from gascity.model.city import Agent, City, Resume
from gascity.model.roster import Place
from gascity.runtimes.base import Spec, StartFailed
from gascity.runtimes.starting import check
from gascity.runtimes.tmux import default_socket, launch
from gascity.runtimes.tmux.client import TmuxClient, literal, quoted
from tests.desk import a_session
from tests.integration.city import agent, city_toml, needs_tmux, running_city
from tests.integration.rig import TmuxRig, opened
from tests.polling import wait_until
from tests.security.hostile import CASES, chunks, texts

ROOT: Final = Path(__file__).resolve().parents[2]
SAFE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the product runs on."""
    return "asyncio"


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """A file that must never appear."""
    path = tmp_path / "MARK"
    yield path
    assert not path.exists(), "a text was executed"


def shell(script: str, cwd: Path, **env: str) -> bytes:
    """What /bin/sh prints of a script."""
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=cwd, env={"PATH": os.environ["PATH"], **env},
        capture_output=True, check=True, timeout=30,
    )  # fmt: skip
    return done.stdout


# --- names


def test_only_plain_names_can_be_hosted(marker: Path) -> None:
    """A session name is letters, digits, `_` and `-`, whatever was asked for (E4, R45)."""
    refused = 0
    for text in texts(marker, 1):
        spec = Spec(
            name=text, session_id="i", token="t", city="/c", command="x", work_dir="/", env={}
        )
        try:
            check(spec)
        except StartFailed:
            refused += 1
        else:
            assert SAFE.fullmatch(text)
    assert refused > CASES * 0.9


def test_no_config_makes_another_name(marker: Path) -> None:
    """Agents, rigs and named sessions of any name: refused, or a name of plain letters (E4)."""
    marker.parent.joinpath("c").mkdir()
    for some in chunks(texts(marker, 2), 250):
        batch = list(dict.fromkeys(one for one in some if not SAFE.fullmatch(one)))
        tables = [f"[[agent]]\nname = {basic(text)}\nstart_command = 'true'\n" for text in batch]
        (marker.parent / "c" / "city.toml").write_text(
            '[workspace]\nname = "t"\n' + "".join(tables), encoding="utf-8"
        )
        result = load_city(marker.parent / "c")
        assert result.city is None
        assert len(result.errors) >= len(batch), "each is told"


def basic(text: str) -> str:
    """A text as TOML writes it."""
    return '"' + "".join(f"\\U{ord(c):08x}" for c in text) + '"'


def test_the_name_of_the_server_is_plain_whatever_the_city_is_called(marker: Path) -> None:
    """The socket of a city is no path of somebody's choice (E4, R67)."""
    for text in texts(marker, 3):
        assert re.fullmatch(r"gc-[A-Za-z0-9_-]+-[0-9a-f]{6}", default_socket(text, marker.parent))


# --- shells


def test_arguments_reach_the_agent_as_they_are(marker: Path) -> None:
    """`args` and the key of the conversation are quoted for the one shell they go through (E4)."""
    for batch in chunks((one.replace("\0", "") for one in texts(marker, 4)), 50):
        one = Agent(
            identity="a", name="a", start_command="printf '%s\\0'", args=tuple(batch[1:]),
            resume=Resume(session_id_flag="--id"),
        )  # fmt: skip
        session = replace(a_session(), session_key=batch[0])
        command = build_command(session, one, work_dir=marker.parent, env={})
        said = shell(command, marker.parent).decode().split("\0")[:-1]
        assert said == [*batch[1:], "--id", batch[0]]


def test_values_of_the_environment_are_never_read_as_script(marker: Path) -> None:
    """The file a session reads holds hostile values and a hostile folder, and no command (E4)."""
    pid = os.getpid()
    for number, batch in enumerate(chunks((t.replace("\0", "") for t in texts(marker, 5)), 50)):
        folder = marker.parent / re.sub(r"[/\0]", "_", batch[0])[:60]
        folder.mkdir(exist_ok=True)
        env = {f"V{place}": value for place, value in enumerate(batch)}
        spec = Spec(
            name="a", session_id="i", token=f"t{pid}", city=batch[1], command="pwd; exec env -0",
            work_dir=str(folder), env={**env, "PATH": os.environ["PATH"]},
        )  # fmt: skip
        file = launch.EnvironmentFile(marker.parent, spec)
        done = subprocess.run(
            ["/bin/sh", str(file.path)], env={}, capture_output=True, check=True, timeout=10
        )
        file.remove()
        assert done.stdout.startswith(os.fsencode(folder) + b"\n"), number
        said = done.stdout.removeprefix(os.fsencode(folder) + b"\n").decode().split("\0")
        found = dict(item.split("=", 1) for item in said if item)
        assert {key: found[key] for key in env} == env


def test_templates_are_filled_in_by_name_and_never_run(marker: Path) -> None:
    """Work dirs and transcript paths are texts: no attribute, no format, no exception (E4)."""
    city = City(name="t", path=str(marker.parent))
    for text in texts(marker, 6):
        one = Agent(identity="a", name="a", work_dir=text, resume=Resume(transcript=text))
        place = Place(name="a", template="a", agent=one)
        expand_template(text, place, city, marker.parent)
        path = transcript_path(a_session(), one, work_dir=marker.parent, env={"HOME": "/h"})
        assert "<class" not in str(path)


def test_a_work_dir_that_cannot_be_is_a_failed_start(marker: Path) -> None:
    """Whatever the text, the start is refused or the folder is inside the city (E4, R69)."""
    city = City(name="t", path=str(marker.parent / "city"))
    Path(city.path).mkdir()
    for text in texts(marker, 7, 2000):
        one = Agent(identity="a", name="a", work_dir=text[:200], start_command="true")
        place = Place(name="a", template="a", agent=one)
        try:
            spec = build_spec(a_session(), place, city, inherited={})
            check(spec)
        except StartFailed:
            continue
        found = Path(spec.work_dir)
        assert found.is_dir()


# --- tmux


def tmux(folder: Path, *argv: str, script: str = "") -> str:
    """One call to a server of the test's own."""
    client = TmuxClient(folder / "s")
    done = subprocess.run(
        [*client.argv, *argv], input=script.encode(), capture_output=True, timeout=30, check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)},
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done.stdout.decode(errors="surrogateescape")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    """A folder with a tmux server in it that was not started by the product."""
    tmux(tmp_path, "new-session", "-d", "-s", "host", "cat")
    yield tmp_path
    tmux(tmp_path, "kill-server")


class TestTmux:
    """tmux's command language, its formats and its targets."""

    pytestmark = needs_tmux

    def test_a_message_is_one_word_of_the_command_language(
        self, marker: Path, server: Path
    ) -> None:
        """What is pasted is what was sent; no quote, brace or line end gets out (E4)."""
        plain = (one.replace("\0", "") for one in texts(marker, 8))
        for batch in chunks(plain, 200):
            lines = [f"set-buffer -b b{n} -- {quoted(text)}\n" for n, text in enumerate(batch)]
            tmux(server, "source-file", "-", script="".join(lines))
            for n in (0, len(batch) // 2, len(batch) - 1):
                assert tmux(server, "show-buffer", "-b", f"b{n}") == batch[n]

    def test_a_folder_is_no_format(self, marker: Path, server: Path) -> None:
        """Where tmux expands formats, `#(...)` in a path stays text (E4, R45)."""
        for batch in chunks((one.replace("\0", "") for one in texts(marker, 9)), 200):
            lines = [f"display-message -p -- {quoted(literal(text))}\n" for text in batch]
            tmux(server, "source-file", "-", script="".join(lines))

    @pytest.mark.slow
    def test_the_batch_that_makes_a_session_cannot_be_broken_out_of(
        self, marker: Path, server: Path
    ) -> None:
        """Paths, ids and configs are words of it, parsed but not run here (E4, R63)."""
        plain = (one.replace("\0", "") for one in texts(marker, 10))
        for batch in chunks(plain, 100):
            script = []
            for n, text in enumerate(batch):
                spec = Spec(
                    name=f"s{n}", session_id=text, token="t", city=text, command=text,
                    work_dir=text, env={"X": text},
                )  # fmt: skip
                *_, make = launch.batch(spec, Path("/f"), boots=True, tmux_config=text)
                assert "\n" not in make
                script.append(f"if-shell -F 0 {{ {make} }}\n")
            tmux(server, "source-file", "-", script="".join(script))
        assert tmux(server, "list-sessions", "-F", "#{session_name}").split() == ["host"]

    @pytest.mark.slow
    @pytest.mark.anyio
    async def test_real_sessions_run_where_they_should_and_hear_what_was_said(
        self, marker: Path, tmp_path: Path
    ) -> None:
        """Real starts in hostile folders, real messages to a real pane (E4, R45, R69)."""
        names = [
            "#(touch MARK)", "##(touch MARK)", "#[x]", "##[x]", "#{pid}", "%H%M", "a b",
            "$(touch MARK)",
            "`touch MARK`", "'", '"', ";", "{", "~", "-c", "é\u00a0", "a\nb", "\\",
        ]  # fmt: skip
        async with opened(TmuxRig(tmp_path)) as rig:
            assert isinstance(rig, TmuxRig)
            for number, name in enumerate(names):
                folder = tmp_path / "dirs" / name
                folder.mkdir(parents=True)
                out = tmp_path / f"out{number}"
                spec = rig.spec(
                    f"s{number}",
                    command=f"pwd > {shlex.quote(str(out))}; exec cat",
                    work_dir=str(folder),
                )
                await rig.runtime.start(spec)
                wait_until(lambda out=out: out.exists() and out.read_bytes())
                assert out.read_text() == f"{folder}\n"
                text = f"; touch {marker} #(touch {marker}) '\" {name}"
                await rig.runtime.send(spec.name, text, token=spec.token)
                rig.shows(spec.name, "#(touch")
                await rig.runtime.stop(spec.name, token=spec.token, grace_s=0.0)
            assert not list((tmp_path / "dirs").rglob("MARK"))


@pytest.mark.slow
class TestCity:
    """The whole way: a person's words on a command line, through socket, store, tmux."""

    pytestmark = needs_tmux

    def test_titles_names_and_messages_are_only_words(self, marker: Path) -> None:
        """sling, pin, wait, nudge, beads and every session argument, by `gc` itself (E4)."""
        with running_city(city_toml(agent("mayor"))) as city:
            city.wait_up("mayor")
            for text in texts(marker, 11, 25):
                word = text.replace("\0", "")[:2000]
                for op, fields in {
                    "sling": {"target": "mayor", "title": word},
                    "pin": {"session": "mayor", "for_s": 1, "reason": word, "owner": word},
                    "wait_add": {"session": "mayor", "for_s": 1, "note": word, "by": word},
                    "nudge": {"session": "mayor", "text": word},
                    "wake": {"session": word},
                    "kill": {"session": word},
                    "peek": {"session": word},
                }.items():
                    with contextlib.suppress(ControlError):
                        city.ask(op, **fields)
            for word in ("$(touch MARK)", f"#(touch {marker})"):
                city.gc("sling", "mayor", word)
                city.gc("session", "nudge", "mayor", word)
                city.gc("attach", word)
                city.gc("why", word)
            city.patrol(2)
            assert not (city.path / "MARK").exists()
            assert "request failed" not in (city.path / ".gc" / "controller.log").read_text()


# --- the code itself


def test_shells_are_named_in_few_places_only() -> None:
    """The config's own checks, the agent's own command and what opens it, by runtime (E4)."""
    shells: set[str] = set()
    for path in sorted((ROOT / "gascity").rglob("*.py")):
        module = path.relative_to(ROOT / "gascity").as_posix()
        if module.startswith("testing/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = ""  # a docstring
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called.startswith(("subprocess.", "os.spawn", "asyncio.create_sub")):
                shells |= {f"{module}: shell=" for word in node.keywords if word.arg == "shell"}
            if isinstance(node, ast.Attribute) and node.attr in {"system", "popen", "getoutput"}:
                shells.add(f"{module}: {node.attr}")
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.search(r"/bin/(ba)?sh( -c| \"|$)", node.value)
            ):
                shells.add(module)
    assert shells == {
        "observe/commands.py",
        "runtimes/acp/hosted.py",
        "runtimes/bounded.py",
        "runtimes/subprocess/keeper.py",
        "runtimes/tmux/launch.py",
    }
