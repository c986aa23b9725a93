"""Recorded ticks decided again: by the rules that recorded them, and by others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gascity.cli.main import main
from gascity.decide import idle
from gascity.model.plan import Blocker
from tests.recorded import differences, kept_differences, record_morning
from tests.recorded import main as recorded_main

KEPT = sorted((Path(__file__).resolve().parents[1] / "data" / "ticks").glob("*.jsonl"))


@dataclass
class Ran:
    """How one `gc` command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


@pytest.fixture
def gc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `gc WORDS...` in this process."""

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main(list(map(str, words)))
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly recorded morning, drains and all."""
    return record_morning(tmp_path_factory.mktemp("city"))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_what_older_versions_recorded_is_decided_as_it_was_or_listed(file: Path) -> None:
    """R73, NORM-07: a change of the rules says which recorded decisions it changes.

    The list is `<name>.differences.json` beside the recording; without one there are none.
    """
    now = differences(file)
    assert now == kept_differences(file), "meant? python -m tests.recorded differences FILE"


def test_a_recording_is_kept_and_it_holds_the_turns_of_a_life() -> None:
    """The kept file is worth something: drains, wakes, a crash and drift are in it."""
    assert KEPT
    with KEPT[0].open("rb") as lines:
        ticks = [json.loads(line) for line in lines]
    actions = {fact["action"] for tick in ticks for fact in tick["decisions"].values()}
    events = {event.split()[0] for tick in ticks for event in tick["city"]["events"]}
    assert {"drain", "start operator", "start work", "start dependency"} <= actions
    assert "stop config-drift restart" in actions
    assert "session.crashed" in events


def test_a_city_s_ticks_replay_without_a_difference(morning: Path, gc: Callable[..., Ran]) -> None:
    """NORM-07: the product's own controller decided each tick as its record is decided now."""
    ran = gc("replay", morning)
    ticks = morning.read_bytes().count(b"\n")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{ticks} ticks, ")
    assert ran.out.endswith(" decisions, no difference\n")
    assert b"drain" in morning.read_bytes()
    assert b"s3cret" not in morning.read_bytes()


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules, changed in one place: nobody's window ever closes."""
    monkeypatch.setattr(idle, "walk_blockers", lambda _: [Blocker(name="keep_warm")])


@pytest.mark.usefixtures("never_idle")
def test_a_changed_rule_is_shown_where_it_decides(morning: Path, gc: Callable[..., Ran]) -> None:
    """R73: each tick and session that the change reaches, with then and now; exit 1."""
    ran = gc("replay", morning)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert '  mayor  action: drain -> ""' in lines
    assert '  mayor  blockers: [] -> ["keep_warm"]' in lines
    assert "line 4  2026-03-01T12:00:31+00:00" in lines
    assert " difference" in lines[-1]


@pytest.mark.usefixtures("never_idle")
def test_a_change_that_is_meant_is_listed_beside_the_recording(
    morning: Path, tmp_path: Path
) -> None:
    """R73: the list is written by a command, and is what the test of recordings compares with."""
    file = tmp_path / "kept.jsonl"
    file.write_bytes(morning.read_bytes())
    assert kept_differences(file) == []
    recorded_main(["differences", str(file)])
    assert kept_differences(file) == differences(file) != []


@pytest.mark.usefixtures("never_idle")
def test_one_session_can_be_picked_out(morning: Path, gc: Callable[..., Ran]) -> None:
    """Only the one asked for is compared, by its name or its id."""
    by_name = gc("replay", morning, "--session", "clerk", "--json")
    found = by_name.json
    assert by_name.code == 1
    assert {one["session"] for one in found["differences"]} == {"clerk"}
    drained = next(one for one in found["differences"] if one["fact"] == "action")
    assert (drained["then"], drained["decided"]) == ("drain", "")
    by_id = gc("replay", morning, "--session", drained["session_id"], "--json").json
    assert by_id == found


def test_a_session_that_is_not_there_is_a_mistake_in_the_command(
    morning: Path, gc: Callable[..., Ran]
) -> None:
    """Nothing compared is not "no difference"; the names that are there are listed."""
    ran = gc("replay", morning, "--session", "nobody")
    assert ran.code == 2
    assert "clerk, mayor, store" in ran.err


def changed(morning: Path, into: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The morning with every line changed."""
    made = into / "changed.jsonl"
    with morning.open("rb") as lines, made.open("w", encoding="utf-8") as out:
        for line in lines:
            tick = json.loads(line)
            change(tick)
            out.write(json.dumps(tick) + "\n")
    return made


def test_fields_of_other_versions_are_listed_and_no_obstacle(
    morning: Path, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """R73: what is unknown here or was unknown there is named, and the rest is compared."""

    def other(tick: dict[str, Any]) -> None:
        tick["version"], tick["weather"] = "9.0", "rain"
        tick["world"]["city"]["daemon"]["moods"] = 3
        del tick["world"]["writable"]
        for fact in tick["decisions"].values():
            fact["mood"] = "calm"
            del fact["queued"]

    ran = gc("replay", changed(morning, tmp_path, other))
    assert ran.code == 0
    for said in ("DaemonSettings.moods is not known", "Tick.weather is not known",
                 "World.writable was not known", "recorded by 9.0; this is"):  # fmt: skip
        assert said in ran.err
    assert "no difference" in ran.out


def test_a_torn_last_line_is_passed_over(
    morning: Path, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """R74: the controller died while it wrote; the rest is as good as before."""
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(morning.read_bytes()[:-200])
    ran = gc("replay", torn, "--json")
    count = morning.read_bytes().count(b"\n")
    assert ran.code == 0
    assert ran.json["ticks"] == count - 1
    assert ran.json["skipped"] == [{"line": count, "why": "not a whole line", "torn": True}]


def test_what_cannot_be_understood_is_no_success(
    morning: Path, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """R73: a word or a schema of a later version leaves "no difference" unproved."""

    def melted(tick: dict[str, Any]) -> None:
        for session in tick["world"]["sessions"].values():
            session["state"] = "melted"

    ran = gc("replay", changed(morning, tmp_path, melted))
    assert ran.code == 1
    assert "no State of this version: 'melted'" in ran.err
    assert "not understood" in ran.out
    ran = gc("replay", changed(morning, tmp_path, lambda tick: tick.update(schema=2)))
    assert (ran.code, "schema 2; this version reads schema 1" in ran.err) == (1, True)


def test_a_decision_that_only_one_side_has_is_a_difference(
    morning: Path, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """R73: a session that was not decided about then, or is not now, is shown."""

    def forget(tick: dict[str, Any]) -> None:
        tick["decisions"] = {f"gone-{key}": one for key, one in tick["decisions"].items()}

    found = gc("replay", changed(morning, tmp_path, forget), "--json").json
    sides = {(one["then"], one["decided"]) for one in found["differences"]}
    assert sides == {(None, "decided"), ("decided", None)}


def test_hostile_text_moves_no_cursor(
    morning: Path, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """R76: control sequences in a file from elsewhere are shown, not obeyed."""

    def hostile(tick: dict[str, Any]) -> None:
        for fact in tick["decisions"].values():
            fact["row"] = "\x1b[2J"
        tick["world"]["\x1b[2J"] = 1

    ran = gc("replay", changed(morning, tmp_path, hostile))
    assert ran.code == 1
    assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_no_success(
    content: bytes, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """Nothing was decided again, so nothing can be said."""
    file = tmp_path / "empty.jsonl"
    file.write_bytes(content)
    assert gc("replay", file).code == 1


@pytest.mark.parametrize("name", ["", "missing.jsonl"])
def test_a_file_that_cannot_be_read_is_said(
    name: str, tmp_path: Path, gc: Callable[..., Ran]
) -> None:
    """A folder, or nothing at all."""
    ran = gc("replay", tmp_path / name)
    assert ran.code == 2
    assert "record_ticks" in ran.err
