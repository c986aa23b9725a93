"""`gc doctor screens`: the corpus, captured files, and what a session shows now."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gascity.runtimes.screens.examples import CORPUS

Gc = Callable[..., Any]
IDLE = "● done\n" + "─" * 40 + "\n❯ \n" + "─" * 40 + "\n  ? for shortcuts\n"
BUSY = IDLE.replace("? for shortcuts", "esc to interrupt")


def test_the_corpus_runs_where_the_program_is_installed(gc: Gc) -> None:
    """All screens that ship are judged right, without a city (R15)."""
    ran = gc("doctor", "screens", "--json")
    assert ran.code == 0
    assert len(ran.json) >= 150
    assert all(row["ok"] for row in ran.json)
    assert "none judged wrong" in gc("doctor", "screens", "--cli", "codex").out


def test_a_screen_that_is_judged_wrong_is_named(
    gc: Gc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1, the screen, what it was taken for and by which rule (R15)."""
    (tmp_path / "a.txt").write_text(f"verdict: pending\ndetector: claude\n----\n{IDLE}")
    monkeypatch.setattr("gascity.runtimes.screens.examples.CORPUS", tmp_path)
    ran = gc("doctor", "screens")
    assert ran.code == 1
    assert "a: idle by claude.box, not pending" in ran.out


def test_captured_files_get_verdict_and_rule(gc: Gc, tmp_path: Path) -> None:
    """`--cli NAME FILE...` gives one object a file: file, verdict, rule (R15)."""
    files = [tmp_path / "idle.txt", tmp_path / "busy.txt"]
    for file, text in zip(files, (IDLE, BUSY), strict=True):
        file.write_text(text, encoding="utf-8")
    ran = gc("doctor", "screens", "--cli", "claude", *map(str, files), "--json")
    assert ran.json == [
        {"file": str(files[0]), "verdict": "idle", "rule": "claude.box"},
        {"file": str(files[1]), "verdict": "busy", "rule": "claude.interrupt-hint"},
    ]
    assert [row["verdict"] for row in gc("doctor", "screens", str(files[1]), "--json").json] == [
        "busy"
    ]


def test_a_file_of_the_corpus_is_understood(gc: Gc) -> None:
    """A file with a head says itself whose screen it is (R15)."""
    ran = gc("doctor", "screens", str(CORPUS / "gemini-plan.txt"), "--json")
    assert ran.json[0]["rule"] == "gemini.plan"


def test_rules_of_the_city_count(gc: Gc, city: Path, tmp_path: Path) -> None:
    """What the city's file says about a program is part of its verdict (R15)."""
    file = tmp_path / "screen.txt"
    file.write_text(IDLE.replace("? for shortcuts", "indexing"), encoding="utf-8")
    rule = 'name = "x"\nverdict = "busy"\nregion = "footer"\npattern = "indexing"\n'
    with (city / "city.toml").open("a", encoding="utf-8") as toml:
        toml.write(f'\n[screens.mine]\nbase = "claude"\n[[screens.mine.rules]]\n{rule}')
    assert gc("doctor", "screens", "--cli", "mine", str(file), "--json").json[0]["rule"] == "mine.x"


@pytest.mark.parametrize("words", [["--cli", "nobody"], ["--cli", "nobody", "x"]], ids=len)
def test_an_unknown_program_is_an_error_that_lists_the_known(words: list[str], gc: Gc) -> None:
    """Exit 2, and which rules there are (R15)."""
    ran = gc("doctor", "screens", *words)
    assert ran.code == 2
    assert "claude, codex" in ran.err


def test_a_session_is_asked_for_at_its_controller(controller: Any, gc: Gc) -> None:
    """What a live session shows comes with the rule that decided (R15, R44)."""
    shown = {
        "session": "mayor",
        "verdict": "pending",
        "rule": "claude.plan",
        "kind": "plan",
        "question": "Proceed?",
    }
    controller.gives("screen", shown)
    assert json.loads(gc("doctor", "screens", "--session", "mayor", "--json").out) == shown
    controller.gives("screen", shown)
    text = gc("doctor", "screens", "--session", "mayor").out
    assert text == "mayor: pending by claude.plan\n    asks: Proceed?\n"
