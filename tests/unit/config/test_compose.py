"""Layers, in their order, each with its stamp and its place.

Covers TEST-01, TEST-02, TEST-03.
"""

from __future__ import annotations

import itertools

import pytest

from gascity.config.requested import requested
from gascity.decide.policy import requested_policy
from gascity.model.city import Origin, SessionClass, Source, WakeMode
from gascity.model.duration import OFF, Duration
from tests.unit.config.loading import Compose, Load

RIG = '[[rigs]]\nname = "r"\n'
AGENT = '[[agent]]\nname = "a"\ndir = "r"\n'


def layered(*, agent: str = "", override: str = "", patch: str = "", rig: str = "", city: str = "",
            more: str = "") -> str:  # fmt: skip
    """A city with one agent `r/a`; each argument is what that layer says of sleep."""
    kind = "interactive_resume"
    text = '[workspace]\nname = "c"\n'
    text += f'[session_sleep]\n{kind} = "{city}"\n' if city else ""
    text += RIG
    text += f'[rigs.session_sleep]\n{kind} = "{rig}"\n' if rig else ""
    if override:
        text += f'[[rigs.overrides]]\nagent = "a"\nsleep_after_idle = "{override}"\n'
    text += AGENT + 'provider = "claude"\n' + more
    text += f'sleep_after_idle = "{agent}"\n' if agent else ""
    if patch:
        text += f'[[patches.agent]]\ndir = "r"\nname = "a"\nsleep_after_idle = "{patch}"\n'
    return text


def says(text: str) -> object:
    """A window as a value."""
    return (
        OFF
        if text == "off"
        else Duration({"0s": 0, "30s": 30, "5m": 300, "60s": 60}[text] * 10**9, text)
    )


@pytest.mark.parametrize(
    ("layers", "window", "source"),
    [
        pytest.param({"agent": "30s", "rig": "5m", "city": "60s"}, "30s", "agent", id="POL-09"),
        pytest.param(
            {"override": "0s", "rig": "5m", "city": "60s"}, "0s", "rig_override", id="POL-10"
        ),
        pytest.param(
            {"patch": "off", "rig": "5m", "city": "60s"}, "off", "agent_patch", id="POL-11"
        ),
        pytest.param({"rig": "5m", "city": "60s"}, "5m", "rig_default", id="POL-12"),
        pytest.param({"city": "60s"}, "60s", "workspace_default", id="POL-13"),
        pytest.param({}, "off", "legacy_off", id="POL-14"),
        pytest.param({"rig": "off", "city": "60s"}, "off", "rig_default", id="POL-18 rig"),
        pytest.param({"city": "off"}, "off", "workspace_default", id="POL-18 workspace"),
        pytest.param({"agent": "off", "city": "60s"}, "off", "agent", id="CFG-09"),
        pytest.param({"agent": "30s", "override": "30s"}, "30s", "rig_override", id="CFG-15"),
        pytest.param({"override": "5m", "patch": "5m"}, "5m", "agent_patch", id="CFG-15 patch"),
        pytest.param(
            {"agent": "30s", "override": "0s", "patch": "off"}, "off", "agent_patch", id="CFG-12"
        ),
    ],
)
def test_the_most_specific_layer_wins_and_signs(
    compose: Compose, layers: dict[str, str], window: str, source: str
) -> None:
    """Value and source come out together, by strict precedence (POL-01, POL-02, CFG-12..15, R3)."""
    city = compose(layered(**layers))
    assert requested(city, city.agents["r/a"]) == (says(window), Source(source))


@pytest.mark.parametrize(
    "layers", list(itertools.product(("", "30s"), ("", "0s"), ("", "off"), ("", "5m"), ("", "60s")))
)
def test_explanation_and_decision_read_the_chain_alike(
    compose: Compose, layers: tuple[str, ...]
) -> None:
    """Checks and explanations never disagree with the decision about who won (POL-01, POL-02)."""
    agent, override, patch, rig, workspace = layers
    city = compose(layered(agent=agent, override=override, patch=patch, rig=rig, city=workspace))
    policy = requested_policy(city.agents["r/a"], city)
    assert requested(city, city.agents["r/a"]) == (policy.requested, policy.source)


def test_the_design_example_comes_out(compose: Compose) -> None:
    """The workspace, a rig with one class, an opt-out and a stamp resolve as designed (CFG-17)."""
    city = compose("""
        [session_sleep]
        interactive_resume = "60s"
        interactive_fresh = "off"
        noninteractive = "0s"
        [[rigs]]
        name = "payments"
        [rigs.session_sleep]
        interactive_resume = "5m"
        [[rigs.overrides]]
        agent = "worker"
        sleep_after_idle = "0s"
        [[agent]]
        name = "mayor"
        sleep_after_idle = "off"
        [[agent]]
        name = "worker"
        dir = "payments"
        [[agent]]
        name = "api"
        dir = "payments"
    """)
    asked = {name: requested(city, agent) for name, agent in city.agents.items()}
    assert asked == {
        "mayor": (OFF, Source.AGENT),
        "payments/worker": (says("0s"), Source.RIG_OVERRIDE),
        "payments/api": (says("5m"), Source.RIG_DEFAULT),
    }


def test_a_silent_layer_leaves_value_and_stamp(compose: Compose) -> None:
    """An override that sets other keys keeps the window and who set it (CFG-13, CFG-11)."""
    text = layered(agent="30s") + '[[patches.agent]]\ndir = "r"\nname = "a"\nidle_timeout = "2h"\n'
    agent = compose(text).agents["r/a"]
    assert (agent.sleep_after_idle, agent.sleep_source) == (says("30s"), Source.AGENT)
    assert str(agent.idle_timeout) == "2h"


def test_defaults_are_never_written_into_an_agent(compose: Compose) -> None:
    """An agent that inherits says nothing itself; silence, off and 0s differ (CFG-07, CFG-16)."""
    inherits = compose(layered(rig="5m", city="60s")).agents["r/a"]
    assert inherits.sleep_after_idle is None
    assert compose(layered(agent="off")).agents["r/a"].sleep_after_idle is OFF
    assert compose(layered(agent="0s")).agents["r/a"].sleep_after_idle == says("0s")


@pytest.mark.parametrize("source", ["override", "patch"])
def test_unset_takes_an_inherited_value_back(compose: Compose, source: str) -> None:
    """`unset` in a later layer falls back to rig and workspace defaults (R2)."""
    stamp = 'unset = ["sleep_after_idle", "idle_timeout"]\n'
    more = 'idle_timeout = "1h"\n'
    if source == "patch":
        patch = f'[[patches.agent]]\ndir = "r"\nname = "a"\n{stamp}'
        city = compose(layered(agent="30s", rig="5m", more=more) + patch)
    else:
        text = layered(agent="30s", rig="5m", more=more)
        city = compose(text.replace(AGENT, f'[[rigs.overrides]]\nagent = "a"\n{stamp}{AGENT}'))
    agent = city.agents["r/a"]
    assert requested(city, agent) == (says("5m"), Source.RIG_DEFAULT)
    assert agent.idle_timeout is None


def test_a_rig_patch_comes_after_a_rig_override(compose: Compose) -> None:
    """`[[rigs.patches]]` is an override too, and the later one (CFG-04, R3)."""
    text = layered(override="0s").replace(
        AGENT, '[[rigs.patches]]\nagent = "a"\nsleep_after_idle = "5m"\n' + AGENT
    )
    agent = compose(text).agents["r/a"]
    assert (agent.sleep_after_idle, agent.sleep_source) == (says("5m"), Source.RIG_OVERRIDE)


def test_each_value_knows_its_file_table_and_line(load: Load) -> None:
    """Provenance names the very line, in a fragment as in the root (CFG-14)."""
    result = load(
        'include = ["parts/more.toml"]\n[session_sleep]\ninteractive_resume = "60s"\n'
        '[[agent]]\nname = "a"\n\nsleep_after_idle = "30s"\nenv = {\n  A = "1",\n}\n',
        {"parts/more.toml": '[[agent]]\nname = "b"\nidle_timeout = "1h"\n'},
    )
    assert result.city is not None
    origin = result.city.origin
    assert origin("", "session_sleep.interactive_resume") == Origin(
        "city.toml", "[session_sleep]", 3
    )
    assert origin("a", "sleep_after_idle") == Origin("city.toml", "[[agent]] a", 7)
    assert origin("b", "idle_timeout") == Origin("parts/more.toml", "[[agent]] b", 3)


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        pytest.param("", SessionClass.INTERACTIVE_RESUME, id="CLS-01, CLS-04"),
        pytest.param("attach = true", SessionClass.INTERACTIVE_RESUME, id="CLS-01"),
        pytest.param('wake_mode = "fresh"', SessionClass.INTERACTIVE_FRESH, id="CLS-02"),
        pytest.param("attach = false", SessionClass.NONINTERACTIVE, id="CLS-03"),
        pytest.param(
            'attach = false\nwake_mode = "fresh"', SessionClass.NONINTERACTIVE, id="CLS-03 fresh"
        ),
        pytest.param(
            "max_active_sessions = 3", SessionClass.INTERACTIVE_RESUME, id="CLS-06 pooled"
        ),
    ],
)
def test_the_class_follows_from_two_keys(compose: Compose, keys: str, kind: SessionClass) -> None:
    """Only `attach` and `wake_mode` decide the class (CLS-01..06)."""
    assert compose(f'[[agent]]\nname = "a"\n{keys}\n').agents["a"].session_class is kind


@pytest.mark.parametrize("scope", ["city", "rig"])
@pytest.mark.parametrize("kind", [kind.value for kind in SessionClass])
def test_one_class_key_moves_no_other_class(compose: Compose, scope: str, kind: str) -> None:
    """A partial table changes the class it names and nothing else (CFG-01, CFG-02, CFG-18, VAL-04,
    POL-15, POL-16, ROLL-02, ROLL-03, ROLL-04)."""
    table = f'{kind} = "5m"\n'
    city = compose(
        (f"[session_sleep]\n{table}" if scope == "city" else "")
        + RIG
        + (f"[rigs.session_sleep]\n{table}" if scope == "rig" else "")
        + AGENT
        + '[[agent]]\nname = "f"\ndir = "r"\nwake_mode = "fresh"\n'
        + '[[agent]]\nname = "n"\ndir = "r"\nattach = false\n'
    )
    asked = {agent.session_class.value: requested(city, agent) for agent in city.agents.values()}
    source = Source.WORKSPACE_DEFAULT if scope == "city" else Source.RIG_DEFAULT
    assert asked.pop(kind) == (says("5m"), source)
    assert set(asked.values()) == {(OFF, Source.LEGACY_OFF)}


@pytest.mark.parametrize(
    "table", ["", "[session_sleep]\n", "[[rigs]]\nname='r'\nsession_sleep={}\n"]
)
def test_without_a_window_nothing_sleeps(compose: Compose, table: str) -> None:
    """No policy and an empty table both mean always warm (POL-17, POL-28, ROLL-01, CFG-21)."""
    city = compose(table + AGENT)
    assert requested(city, city.agents["r/a"]) == (OFF, Source.LEGACY_OFF)


def test_rig_names_may_hold_dots_and_rigs_may_share_agent_names(compose: Compose) -> None:
    """An identity is split at its last slash; two rigs may have the same agent (R6b)."""
    city = compose(
        '[[rigs]]\nname = "a.b"\n[[rigs]]\nname = "c"\n'
        '[[agent]]\nname = "w"\ndir = "a.b"\n[[agent]]\nname = "w"\ndir = "c"\n'
        '[[patches.agent]]\nname = "w"\ndir = "a.b"\nwake_mode = "fresh"\n'
    )
    modes = {name: agent.wake_mode for name, agent in city.agents.items()}
    assert modes == {"a.b/w": WakeMode.FRESH, "c/w": WakeMode.RESUME}


def test_agent_fields_arrive(compose: Compose, tmp_path: object) -> None:
    """Every field of an agent is read and composed (R69, R72)."""
    agent = compose("""
        [workspace]
        env = { BASE = "1", SHARED = "city" }
        [[agent]]
        name = "a"
        start_command = "./run.sh --flag"
        args = ["one two"]
        env = { SHARED = "agent" }
        work_dir = "{{.AgentBase}}/here"
        ready_prompt_prefix = "> "
        ready_delay_ms = 5
        process_names = ["run.sh"]
        screens = "claude"
        resume_command = "./run.sh --again {{.SessionKey}}"
        session = "exec:host.sh"
        suspended = true
        work_query = "bd ready"
        description = "does"
    """).agents["a"]
    assert (agent.start_command, agent.args) == ("./run.sh --flag", ("one two",))
    assert agent.env == {"BASE": "1", "SHARED": "agent"}
    assert agent.work_dir == f"{tmp_path}/a/here"
    assert (agent.ready_prompt_prefix, agent.ready_delay_ms) == ("> ", 5)
    assert (agent.process_names, agent.screens) == (("run.sh",), "claude")
    assert agent.resume.can_resume
    assert (agent.runtime, agent.suspended) == ("exec:host.sh", True)
    assert (agent.work_query, agent.description) == ("bd ready", "does")


def test_an_override_merges_and_removes_environment(compose: Compose) -> None:
    """A later layer adds to `env` and may take single names out (R3)."""
    text = layered(more='env = { A = "1", B = "2" }\n') + (
        '[[patches.agent]]\ndir = "r"\nname = "a"\nenv = { C = "3" }\nenv_remove = ["A"]\n'
    )
    assert compose(text).agents["r/a"].env == {"B": "2", "C": "3"}


def test_settings_tables_are_read_over_their_defaults(compose: Compose) -> None:
    """`[daemon]`, `[session]`, `[events]`, `[beads]` change what they name and nothing else."""
    city = compose("""
        [daemon]
        patrol_interval = "1s"
        max_wakes_per_tick = 9
        [session]
        startup_timeout = "300s"
        socket = "s"
        tmux_config = "look.conf"
        [events]
        keep = "7d"
        provider = "exec:x"
        [beads]
        provider = "gascity"
    """)
    assert (city.daemon.patrol_interval.seconds, city.daemon.max_wakes_per_tick) == (1.0, 9)
    assert city.daemon.max_restarts == 5
    assert (city.session.startup_timeout.seconds, city.session.socket) == (300.0, "s")
    assert (city.events.keep.seconds, city.beads_provider) == (7 * 86400.0, "gascity")


def test_a_city_without_a_name_is_called_like_its_folder(
    compose: Compose, tmp_path: object
) -> None:
    """`[workspace] name` may be left out."""
    assert compose("[workspace]\n").name == str(tmp_path).rpartition("/")[2]


def test_mappings_of_a_city_cannot_be_changed(compose: Compose) -> None:
    """What was composed stays as it was composed."""
    city = compose(layered(agent="30s"))
    with pytest.raises(TypeError):
        city.agents["x"] = city.agents["r/a"]  # type: ignore[index]
    with pytest.raises(TypeError):
        city.agents["r/a"].env["A"] = "1"  # type: ignore[index]


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("bd ready --assignee={{.QualifiedName}}", "bd ready --assignee=r/a"),
        ("x {{.Agent}} {{ .AgentBase }} {{.Rig}}", "x r/a a r"),
        ("cd {{.RigRoot}} && q {{.CityName}}", "cd '/srv/the app' && q c"),
        ("q {{.Nobody}}", "q {{.Nobody}}"),
    ],
)
def test_commands_that_ask_for_work_ask_for_the_agents_own(
    load: Load, written: str, filled: str
) -> None:
    """Variables are filled in, quoted where a shell would stumble; an unknown one is told (R61)."""
    text = (
        '[workspace]\nname = "c"\n[[rigs]]\nname = "r"\npath = "/srv/the app"\n'
        f'[[agent]]\nname = "a"\ndir = "r"\nprovider = "claude"\n'
        f"work_query = '{written}'\nscale_check = '{written}'\n"
    )
    result = load(text)
    assert result.city is not None
    agent = result.city.agents["r/a"]
    assert agent.pool is not None
    assert (agent.work_query, agent.pool.check) == (filled, filled)
    assert len(result.warnings) == (2 if "Nobody" in written else 0)


def test_what_is_inherited_has_a_place_too(load: Load) -> None:
    """Values of the CLI, its base and patches, the city's defaults: file and line (CFG-15)."""
    city = load(
        '[workspace]\nprovider = "mine"\n[session]\nprovider = "subprocess"\n'
        '[providers.mine]\nbase = "other"\nargs = ["1"]\n[providers.other]\ncommand = "x"\n'
        '[[patches.providers]]\nname = "mine"\nready_delay_ms = 5\n[[agent]]\nname = "a"\n'
    ).city
    assert city is not None
    keys = ("provider", "session", "args", "start_command", "ready_delay_ms")
    assert [origin.line for key in keys if (origin := city.origin("a", key))] == [2, 4, 7, 9, 12]
