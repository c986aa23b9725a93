"""The command table, the global options, and how every command ends badly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gascity import __version__
from gascity.cli.main import COMMANDS, HOT, main, overview, parser_of

Gc = Callable[..., Any]


# Words that are wrong for each command, whatever the city says.
USAGE_ERRORS = {
    "init": ["--starter", "huge"],
    "start": ["--loud"],
    "stop": ["now"],
    "status": ["--jsn"],
    "why": [],
    "attach": ["mayor", "--timeout", "soon"],
    "wake": ["mayor", "--timeout", "1d"],
    "sleep": ["--force"],
    "pin": ["mayor", "--for", "-1h"],
    "unpin": [],
    "busy": ["--", "true"],
    "wait": ["add", "mayor"],
    "suspend": ["mayor", "--all"],
    "resume": [],
    "session": ["paint"],
    "sling": ["mayor"],
    "bead": ["update", "gc-1"],
    "hook": ["--clame"],
    "agent-event": ["--what"],
    "hooks": ["paint"],
    "events": ["--after", "x"],
    "config": ["explain"],
    "doctor": ["--all"],
    "mcp": ["--http", "x"],
    "replay": [],
    "completion": ["csh"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_usage_error_is_one_line_and_exit_2(name: str, city: Path, gc: Gc) -> None:
    """Wrong words end as `gc <command>: <what>; <what to do>` with exit 2 (R71)."""
    ran = gc(name, *USAGE_ERRORS[name])
    assert ran.code == 2
    assert ran.out == ""
    first = ran.err.splitlines()[0]
    assert first.startswith(f"gc {name}")
    assert "; " in first


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, gc: Gc) -> None:
    """`gc <command> --help` prints its usage and exits 0."""
    ran = gc(name, "--help")
    assert ran.code == 0
    assert f"usage: gc {name}" in ran.out


def test_the_overview_names_every_command(gc: Gc) -> None:
    """`gc --help` is made from the table; `gc` alone shows it too, as a usage error."""
    assert gc("--help").out == overview() + "\n"
    assert all(f"\n  {name} " in overview() for name in COMMANDS)
    assert gc().code == 2


def test_hot_commands_are_commands() -> None:
    """Every hot name but `--help` is in the table."""
    assert set(HOT) - {"--help"} <= set(COMMANDS)


def test_the_version_is_the_packages(gc: Gc) -> None:
    """`gc --version` names it."""
    assert gc("--version").out == f"gc {__version__}\n"


def test_an_unknown_command_names_the_nearest(gc: Gc) -> None:
    """A slip is answered with what was probably meant, exit 2."""
    ran = gc("statsu")
    assert ran.code == 2
    assert "did you mean `gc status`" in ran.err


@pytest.mark.parametrize("where", ["before", "after", "equals"])
def test_the_city_may_stand_on_either_side(
    where: str, city: Path, monkeypatch: pytest.MonkeyPatch, gc: Gc
) -> None:
    """`--city` is understood before and after the command (R71)."""
    monkeypatch.delenv("GC_CITY")
    words = {
        "before": ["--city", str(city), "status"],
        "after": ["status", "--city", str(city)],
        "equals": [f"--city={city}", "status"],
    }[where]
    ran = gc(*words)
    assert ran.code == 0
    assert "no controller" in ran.err


def test_a_missing_city_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gc: Gc
) -> None:
    """Outside a city a command ends with exit 2 and names `gc init`."""
    monkeypatch.delenv("GC_CITY", raising=False)
    monkeypatch.chdir(tmp_path)
    ran = gc("status")
    assert ran.code == 2
    assert "gc init" in ran.err


def test_an_interrupt_ends_with_130(city: Path, monkeypatch: pytest.MonkeyPatch, gc: Gc) -> None:
    """Ctrl-C in any command is exit 130 and no traceback."""

    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("gascity.cli.status.ask", interrupted)
    ran = gc("status")
    assert ran.code == 130
    assert ran.err == ""


def test_a_name_with_escapes_cannot_paint_the_error(city: Path, gc: Gc) -> None:
    """What a person typed is shown with its control characters escaped (STAT-09)."""
    assert "\x1b" not in gc("\x1b[2J").err


def test_each_parser_is_made_alone() -> None:
    """Every command's module configures its parser without needing another one."""
    for name in COMMANDS:
        module, parser = parser_of(name)
        assert callable(module.run)
        assert parser.prog == f"gc {name}"


def test_main_takes_the_process_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without words, `main` reads the ones the process was started with."""
    monkeypatch.setattr("sys.argv", ["gc", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("gc ")
