"""`gc init` and `gc config`: a first city, what is wrong with one, where a window comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gc = Callable[..., Any]


@pytest.mark.parametrize("starter", ["full", "timed-only"])
def test_a_new_city_is_valid(starter: str, tmp_path: Path, city: Path, gc: Gc) -> None:
    """What `gc init` writes loads without a problem (CFG-19, CFG-20)."""
    folder = tmp_path / "my-city"
    assert gc("init", str(folder), "--starter", starter).code == 0
    ran = gc("config", "validate", "--city", str(folder))
    assert (ran.code, ran.err) == (0, "")
    assert (folder / ".gc").stat().st_mode & 0o777 == 0o700
    assert (folder / ".gc" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_nothing_is_overwritten(city: Path, gc: Gc) -> None:
    """A city that is there stays as it is, exit 3."""
    before = (city / "city.toml").read_text(encoding="utf-8")
    ran = gc("init", str(city))
    assert ran.code == 3
    assert (city / "city.toml").read_text(encoding="utf-8") == before


def test_every_problem_shows_at_once(city: Path, gc: Gc) -> None:
    """All errors with file and remedy on stderr, exit 2; the same as objects (R5)."""
    (city / "city.toml").write_text(
        '[workspace]\nname = "demo"\n[session_sleep]\nnoninteractive = "1d"\n'
        'interactive_resume = ""\n',
        encoding="utf-8",
    )
    ran = gc("config", "validate")
    assert ran.code == 2
    assert ran.err.count("error: city.toml:") == 2
    assert '"24h"' in ran.err
    as_json = gc("config", "validate", "--json")
    assert as_json.code == 2
    assert len([one for one in as_json.json["problems"] if one["severity"] == "error"]) == 2


def test_explain_names_the_layers(city: Path, gc: Gc) -> None:
    """The winner and the losing layers of one agent; near names for a slip (POL-02, R6b)."""
    with (city / "city.toml").open("a", encoding="utf-8") as file:
        file.write('sleep_after_idle = "5m"\n[session_sleep]\ninteractive_resume = "60s"\n')
    ran = gc("config", "explain", "mayor")
    assert "sleep=5m (source=agent)" in ran.out
    assert "workspace_default" in ran.out
    slip = gc("config", "explain", "mayr")
    assert slip.code == 2
    assert "mayor" in slip.err


def test_show_is_a_city_again(city: Path, tmp_path: Path, gc: Gc) -> None:
    """The effective configuration loads, and as JSON it is the same."""
    shown = gc("config", "show").out
    again = tmp_path / "city.toml"
    again.write_text(shown, encoding="utf-8")
    assert gc("config", "validate", "--city", str(tmp_path)).code == 0
    assert gc("config", "show", "--json").json["workspace"]["name"] == "demo"


def test_show_hides_what_looks_secret(city: Path, gc: Gc) -> None:
    """Values of env that look secret are hidden unless asked for."""
    with (city / "city.toml").open("a", encoding="utf-8") as file:
        file.write('env = { API_TOKEN = "sesame" }\n')
    assert "sesame" not in gc("config", "show").out
    assert "sesame" in gc("config", "show", "--secrets").out


CREW = {
    "p/pack.toml": '[pack]\nname = "p"\nschema = 2\n',
    "p/agents/hand/agent.toml": 'scope = "rig"\nprovider = "claude"\nsleep_after_idle = "5m"\n',
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_an_incomplete_city_is_an_error_only_if_asked(city: Path, tmp_path: Path, gc: Gc) -> None:
    """Exit 2 with --strict, a warning without; a map may stand for the source (R6a)."""
    text = '[workspace]\nname = "demo"\n[imports.p]\nsource = "https://example.org/p.git"\n'
    write(city, {"city.toml": text})
    loose, strict = gc("config", "validate"), gc("config", "validate", "--strict")
    assert (loose.code, strict.code) == (0, 2)
    assert strict.err.count("https://example.org/p.git") == 1
    as_json = gc("config", "validate", "--json")
    assert (as_json.json["ok"], as_json.json["incomplete"]) == (True, True)
    sources = '[[map]]\nsources = ["https://example.org/p.git"]\ndir = "p"\n'
    write(tmp_path / "maps", {**CREW, "map.toml": sources})
    mapped = gc("config", "validate", "--strict", "--pack-map", str(tmp_path / "maps/map.toml"))
    assert (mapped.code, mapped.err) == (0, "")
    assert gc("config", "validate", "--pack-map", str(tmp_path / "none.toml")).code == 2


def test_an_agent_of_a_pack_explains_itself(city: Path, gc: Gc) -> None:
    """The chain, the way from the import to the pack, every value with its place (CFG-15)."""
    text = (
        '[workspace]\nname = "demo"\n[[rigs]]\nname = "app"\n[rigs.imports.p]\nsource = "p"\n'
        '[[rigs.overrides]]\nagent = "hand"\nattach = false\n'
    )
    write(city, {**CREW, "city.toml": text})
    for word in ("hand", "p.hand", "app/hand", "app/p.hand"):
        ran = gc("config", "explain", word, "--values")
        assert ran.code == 0, ran.err
        assert "app/p.hand: noninteractive, sleep=5m (source=agent)" in ran.out
    assert "from city.toml:6 [rigs.imports.p] > p/pack.toml:2 [pack] p" in ran.out
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["attach", "False", "city.toml:9", "[[rigs.overrides]]", "hand"] in rows
    assert ["provider", "claude", "p/agents/hand/agent.toml:2", "agent", "hand"] in rows
    values = gc("config", "explain", "hand", "--values", "--json").json["values"]
    assert {"key": "attach", "value": "False", "file": "city.toml", "line": 9,
            "table": "[[rigs.overrides]] hand"} in values  # fmt: skip


PLAN = """\
[workspace]
name = "demo"
[beads]
provider = "bd"
[[agent]]
name = "mayor"
provider = "claude"
[[agent]]
name = "night"
provider = "codex"
sleep_after_idle = "15m"
[[agent]]
name = "held"
provider = "claude"
suspended = true
"""


def test_a_plan_says_five_things(city: Path, gc: Gc) -> None:
    """Who sleeps after what, who never and why, what is in the way, what to write, to what end."""
    write(city, {"city.toml": PLAN})
    out = gc("config", "plan").out
    assert "after 15m agent: its own table says so\n    night" in out
    assert "legacy_off: nothing asks for it\n    mayor" in out
    assert "agent: suspended by its own table, an override or a patch\n    held" in out
    assert (
        "demand: work is kept by [beads] provider = 'bd', which is not read\n    mayor, night"
        in out
    )
    assert "resume: codex does not get a conversation back\n    night" in out
    assert '  [beads]\n  provider = "gascity"' in out
    assert (
        '  interactive_resume = "60s"\nwhich changes\n  never (legacy_off) → 60s\n    mayor' in out
    )
    found = gc("config", "plan", "--json").json
    assert [one["verdict"] for one in found["sessions"]] == ["never", "sleeps", "held"]
    assert found["proposals"][1]["changes"] == [
        {"agent": "mayor", "before": "never (legacy_off)", "after": "60s"}
    ]


def test_what_a_plan_proposes_does_what_it_says(city: Path, gc: Gc) -> None:
    """Written into the file, the lines change exactly who was named."""
    for more in ("", "wake_mode = 'fresh'\n", "session = 'exec:./x'\n", "idle_timeout = '10m'\n"):
        text = f'[workspace]\nname = "demo"\n[[agent]]\nname = "a"\nprovider = "claude"\n{more}'
        write(city, {"city.toml": text})
        [proposal] = gc("config", "plan", "--json").json["proposals"]
        write(city, {"city.toml": text + "\n".join(proposal["lines"]) + "\n"})
        assert gc("config", "validate").code == 0
        [change] = proposal["changes"]
        [session] = gc("config", "plan", "--json").json["sessions"]
        assert (change["agent"], change["after"]) == ("a", session["after"])


def test_a_policy_for_a_city_that_exists_is_shown_first(city: Path, gc: Gc) -> None:
    """A diff; written only on request, every other line, comments included, as it was (CFG-19)."""
    before = f"# mine\n{PLAN}\n# the end"
    write(city, {"city.toml": before})
    (city / "city.toml").chmod(0o640)
    shown = gc("init", "--from", str(city))
    assert shown.code == 0
    assert '+interactive_resume = "60s"' in shown.out
    assert "mayor" in shown.out
    assert (city / "city.toml").read_text(encoding="utf-8") == before
    assert gc("init", "--from", str(city), "--write").code == 0
    after = (city / "city.toml").read_text(encoding="utf-8")
    assert after.startswith(before)
    assert (city / "city.toml").stat().st_mode & 0o777 == 0o640
    assert gc("config", "validate").code == 0
    assert "nothing to propose" in gc("init", "--from", str(city)).out
    assert sorted(path.name for path in city.iterdir() if "toml" in path.name) == ["city.toml"]


def test_a_policy_is_not_written_where_that_is_not_safe(city: Path, tmp_path: Path, gc: Gc) -> None:
    """A link, a table inside another value, a city with errors: refused, nothing changed."""
    write(
        city, {"city.toml": PLAN.replace("[beads]", 'session_sleep.noninteractive = "1s"\n[beads]')}
    )
    assert gc("init", "--from", str(city)).code in (0, 3)
    write(city, {"city.toml": f'session_sleep = {{ noninteractive = "1s" }}\n{PLAN}'})
    refused = gc("init", "--from", str(city), "--write")
    assert refused.code == 3
    assert "add the keys by hand" in refused.err
    write(tmp_path, {"real.toml": PLAN})
    (city / "city.toml").unlink()
    (city / "city.toml").symlink_to(tmp_path / "real.toml")
    assert gc("init", "--from", str(city), "--write").code == 3
    assert (tmp_path / "real.toml").read_text(encoding="utf-8") == PLAN
    (city / "city.toml").unlink()
    write(city, {"city.toml": "[workspace]\nname = 3\n"})
    assert gc("init", "--from", str(city)).code == 2
    assert gc("init", "--write").code == 2
