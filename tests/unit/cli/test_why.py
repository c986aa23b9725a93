"""`gc why` as text: the verdict first, then everything it rests on."""

from __future__ import annotations

from gascity.cli.why import explained

WHY = {
    "verdict": "mayor stays awake: somebody is attached.",
    "state": "awake",
    "rule": {"row": "running-awake", "path": "evaluate"},
    "signals": [
        {"name": "attached", "value": 2, "age_s": 3},
        {"name": "activity", "value": "2026-03-01T12:00:00.000000Z", "age_s": 130.0},
        {"name": "pending", "value": None, "health": "unclear", "detail": "timed out"},
        {"name": "work", "value": []},
    ],
    "policy": {
        "requested": "60s",
        "effective": "60s",
        "source": "workspace_default",
        "chain": [
            {"layer": "agent", "value": "", "wins": False, "origin": ""},
            {
                "layer": "workspace_default",
                "value": "60s",
                "wins": True,
                "origin": "city.toml:3",
            },
        ],
    },
    "blockers": [{"name": "attached", "detail": "2 clients"}, "keep_warm"],
    "deadline": {"at": "2026-03-01T12:01:00.000000Z", "in_s": 60.0},
    "changes": ["detach: it may sleep 60s later"],
}


def test_the_verdict_comes_first() -> None:
    """One sentence, then rule, deadline, blockers, signals, policy, changes in this order."""
    lines = explained(WHY)
    assert lines[0] == WHY["verdict"]
    text = "\n".join(lines)
    order = ["rule", "deadline", "blockers", "signals:", "policy:", "policy chain", "what would"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


def test_signals_show_value_and_age() -> None:
    """Each signal with what it said and how long ago; local times with offset (R76)."""
    lines = explained(WHY)
    assert any(line.split() == ["attached", "2", "3s", "ago"] for line in lines)
    activity = next(line for line in lines if line.startswith("  activity"))
    assert activity.endswith("2m10s ago")
    assert "T12:00" not in activity
    assert any(line.split() == ["work", "none"] for line in lines)
    assert any(line.split() == ["pending", "unclear", "timed", "out"] for line in lines)


def test_the_losing_layers_are_there() -> None:
    """The winner is marked, silent layers stay visible (POL-02)."""
    text = "\n".join(explained(WHY))
    assert "=> workspace_default" in text
    assert "city.toml:3" in text
    assert "agent" in text


def test_blockers_carry_their_detail() -> None:
    """Blockers come with what stands behind them; keep_warm is shown here (BLK-07)."""
    assert any("attached (2 clients), keep_warm" in line for line in explained(WHY))


def test_nothing_decided_is_still_an_answer() -> None:
    """A session no patrol has judged yet says so."""
    assert explained({})[0] == "nothing was decided yet"
    assert all(line.isprintable() for line in explained({"verdict": "a\nb", "rule": "\x1b"}))
