"""Problems: all at once, each with file, table, key, value, line and remedy."""

from __future__ import annotations

import time

import pytest

from gascity.config.problems import Problem, Severity
from tests.unit.config.loading import Compose, Load

WINDOWS = '[session_sleep]\ninteractive_resume = "60s"\ninteractive_fresh = "off"\n'


def about(problems: tuple[Problem, ...], key: str) -> list[str]:
    """What is said of a key."""
    return [problem.what for problem in problems if problem.key == key]


def test_every_problem_is_reported_at_once(load: Load) -> None:
    """One load names all that is wrong, in every table (R5)."""
    result = load(
        '[session_sleep]\nnoninteractive = ""\n[[rigs]]\nname = "r"\n[rigs.session_sleep]\n'
        'interactive_resume = "never"\n[[rigs.overrides]]\nagent = "a"\nsleep_after_idle = "-1s"\n'
        '[[agent]]\nname = "a"\ndir = "r"\nsleep_after_idle = "1d"\nattach = "yes"\n'
        '[daemon]\npatrol_interval = "0s"\n[[patches.agent]]\nname = "b"\nsleep_after_idle = ""\n'
    )
    found = {(problem.table, problem.key, problem.line) for problem in result.errors}
    assert found == {
        ("[session_sleep]", "noninteractive", 2),
        ("[rigs.session_sleep] r", "interactive_resume", 6),
        ("[[rigs.overrides]] a", "sleep_after_idle", 9),
        ("[[agent]] a", "sleep_after_idle", 13),
        ("[[agent]] a", "attach", 14),
        ("[daemon]", "patrol_interval", 16),
        ("[[patches.agent]] b", "sleep_after_idle", 19),
        ("[[patches.agent]] b", "name", 18),
    }
    assert all(problem.what and problem.file == "city.toml" for problem in result.errors)


def test_a_problem_reads_as_one_line() -> None:
    """File, line, table, key, value, what and remedy, in this order (R1)."""
    problem = Problem(
        severity=Severity.ERROR,
        file="city.toml",
        table="[[agent]] a",
        key="sleep_after_idle",
        value='"1d"',
        line=7,
        what="no",
        remedy='write "24h"',
    )
    line = 'city.toml:7 [[agent]] a: sleep_after_idle = "1d": no; write "24h"'
    assert str(problem) == line
    assert problem.as_dict()["line"] == 7


PLACES = {
    "session_sleep": '[session_sleep]\nnoninteractive = "{}"\n',
    "rigs.session_sleep": '[[rigs]]\nname = "r"\n[rigs.session_sleep]\nnoninteractive = "{}"\n',
    "agent": '[[agent]]\nname = "a"\nsleep_after_idle = "{}"\n',
    "override": '[[agent]]\nname = "a"\ndir = "r"\n[[rigs]]\nname = "r"\n[[rigs.overrides]]\n'
    'agent = "a"\nsleep_after_idle = "{}"\n',
    "patch": '[[agent]]\nname = "a"\n[[patches.agent]]\nname = "a"\nsleep_after_idle = "{}"\n',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", ["", " ", "-5s", "never", "on", "1d", "30"])
def test_a_bad_window_is_refused_at_every_place(load: Load, place: str, value: str) -> None:
    """Wherever a window may stand, nothing but `off` and durations may (CFG-03, CFG-04, CFG-05,
    CFG-10, VAL-01, VAL-02, VAL-03)."""
    [problem] = load(PLACES[place].format(value)).errors
    assert (problem.value, bool(problem.remedy), problem.line > 0) == (f'"{value}"', True, True)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", ["off", "OFF", "0s", "0", "60s", " 5m ", "1h30m"])
def test_a_good_window_is_taken_at_every_place(load: Load, place: str, value: str) -> None:
    """Each place takes the whole grammar (CFG-01..05, CFG-08, R1)."""
    assert load(PLACES[place].format(value)).city is not None


def test_an_empty_stamp_names_the_way_to_unset(load: Load) -> None:
    """The error for `""` in a patch or override says `unset` and `off` (R2)."""
    for place in ("override", "patch"):
        [problem] = load(PLACES[place].format("")).errors
        assert 'unset = ["sleep_after_idle"]' in problem.remedy
        assert '"off"' in problem.remedy
    [problem] = load(PLACES["agent"].format("")).errors
    assert "unset" not in problem.remedy


@pytest.mark.parametrize("table", ["agent_defaults", "agents"])
def test_agent_defaults_never_feed_sleep_policy(load: Load, table: str) -> None:
    """`sleep_after_idle` there is an error, `wake_mode` has no effect and says so (CFG-06, R6a)."""
    result = load(
        f'[{table}]\nsleep_after_idle = "60s"\nwake_mode = "fresh"\n[[agent]]\nname = "a"\n'
    )
    [problem] = result.errors
    assert (problem.table, problem.key, problem.value) == (
        f"[{table}]",
        "sleep_after_idle",
        '"60s"',
    )
    assert about(result.warnings, "wake_mode") == ["has no effect here"]


@pytest.mark.parametrize(
    ("text", "key", "what"),
    [
        ("attach = 1", "attach", "must be true or false"),
        ('attach = "true"', "attach", "must be true or false"),
        ("idle_timeout = 60", "idle_timeout", "a duration is a text, not a number"),
        ('idle_timeout = "1d"', "idle_timeout", "not a duration (unknown unit 'd')"),
        ('idle_timeout = "-1s"', "idle_timeout", "a span cannot be negative"),
        ('ready_delay_ms = "5"', "ready_delay_ms", "must be a whole number"),
        ("ready_delay_ms = 1.0", "ready_delay_ms", "must be a whole number"),
        ("ready_delay_ms = true", "ready_delay_ms", "must be a whole number"),
        ("min_active_sessions = -1", "min_active_sessions", "must be at least 0"),
        ("max_active_sessions = -2", "max_active_sessions", "must be at least -1"),
        ("args = 'x'", "args", "must be an array"),
        ("args = [1]", "args", "0 must be a text in quotes"),
        ("env = { PORT = 80 }", "env", "PORT must be a text in quotes"),
        ("env = []", "env", "must be a table"),
        ('wake_mode = "warm"', "wake_mode", 'must be "resume" or "fresh"'),
        ('start_command = "a\\u0000b"', "start_command", "holds a NUL character"),
        ("depends_on = 'b'", "depends_on", "must be an array"),
        ("pool = 3", "pool", "must be a table"),
        ("suspended = 0", "suspended", "must be true or false"),
        ('work_dir = "{{.Nobody}}"', "work_dir", "{{.Nobody}} is no variable of a work_dir"),
    ],
)
def test_a_wrong_type_is_an_error_never_a_guess(load: Load, text: str, key: str, what: str) -> None:
    """A key we read has the type it needs, or the city is refused (R5)."""
    [problem] = load(f'[[agent]]\nname = "a"\n{text}\n').errors
    assert (problem.key, problem.what, problem.line) == (key, what, 3)


def test_values_of_the_environment_are_not_shown(load: Load) -> None:
    """A problem never repeats what may be a secret."""
    result = load('[[agent]]\nname = "a"\nenv = { TOKEN = ["s3cret"] }\n')
    assert result.errors
    assert "s3cret" not in "".join(map(str, result.problems))


def test_an_empty_idle_timeout_means_none(compose: Compose) -> None:
    """`idle_timeout` is a knob of its own, with its own emptiness (CFG-11)."""
    for value in ("", "0s", "0"):
        agent = compose(f'[[agent]]\nname = "a"\nidle_timeout = "{value}"\n').agents["a"]
        assert (agent.idle_timeout, agent.sleep_after_idle) == (None, None)


def test_unknown_keys_are_warnings_with_the_nearest_known_one(load: Load) -> None:
    """Nobody reads them, so the city loads; a slip is named (R5)."""
    result = load(
        '[workspace]\nnmae = "c"\n[[agent]]\nname = "a"\nsleep_after_idel = "60s"\nzzz = 1\n'
        '[rig]\nx = 1\n[session]\nsockets = "x"\n'
    )
    assert result.city is not None
    remedies = {problem.key: problem.remedy for problem in result.warnings}
    assert remedies["nmae"] == 'did you mean "name"?'
    assert remedies["sleep_after_idel"] == 'did you mean "sleep_after_idle"?'
    assert remedies["rig"] == 'did you mean "rigs"?'
    assert remedies["sockets"] == 'did you mean "socket"?'
    assert "did you mean" not in remedies["zzz"]


def test_an_unknown_session_class_is_louder(load: Load) -> None:
    """A slip inside `session_sleep` would silently keep everybody warm (R6a)."""
    result = load(
        '[session_sleep]\nidle = "10m"\ninteractve_resume = "60s"\n'
        '[[rigs]]\nname = "r"\nsession_sleep = { non_interactive = "0s" }\n'
    )
    assert result.city is not None
    assert len(result.warnings) == 3
    assert all("NOT A SESSION CLASS" in problem.what for problem in result.warnings)
    assert 'did you mean "interactive_resume"?' in {p.remedy for p in result.warnings}


def test_keys_of_other_tools_pass_in_silence(load: Load) -> None:
    """What the wider ecosystem writes is neither wrong nor worth a word (R5)."""
    result = load("""
        [workspace]
        name = "c"
        prefix = "x"
        install_agent_hooks = true
        [[agent]]
        name = "a"
        provider = "claude"
        scope = "city"
        prompt_template = "p.md"
        namepool = "n"
        [mail]
        provider = "x"
        [api]
        port = 9443
        [daemon]
        formula_v2 = true
        [session]
        debounce_ms = 500
        [session.k8s]
        namespace = "gc"
        [events]
        provider = ""
    """)
    assert result.problems == ()


@pytest.mark.parametrize(
    ("runtime", "keys", "refused"),
    [
        ("subprocess", "", True),
        ("acp", "", True),
        ("k8s", "", True),
        ("exec:run.sh", "", True),
        ("k8s", 'wake_mode = "fresh"', True),
        ("tmux", "", False),
        ("hybrid", "", False),
        ("auto", "", False),
        ("k8s", "attach = false", False),
    ],
)
def test_an_explicit_window_a_runtime_cannot_keep_is_an_error(
    load: Load, runtime: str, keys: str, refused: bool
) -> None:
    """Known from the file alone: no attachment signal, no interactive sleep; a route that is only
    known at run time is left to it (VAL-07, R7)."""
    agent = f'[[agent]]\nname = "a"\nsession = "{runtime}"\nprovider = "claude"\n{keys}\n'
    explicit = load(agent + 'sleep_after_idle = "60s"\n')
    assert bool(explicit.errors) is refused
    assert about(explicit.errors, "sleep_after_idle") == [p.what for p in explicit.errors]
    assert load(agent + 'sleep_after_idle = "off"\n').city is not None
    assert load(WINDOWS + agent).city is not None


@pytest.mark.parametrize("attach", ["true", "false"])
def test_a_window_on_a_fresh_agent_is_warned_about(load: Load, attach: str) -> None:
    """Each sleep would end the conversation; `off` and inherited values say nothing (VAL-08)."""
    agent = f'[[agent]]\nname = "a"\nwake_mode = "fresh"\nprovider = "claude"\nattach = {attach}\n'
    [problem] = load(agent + 'sleep_after_idle = "60s"\n').warnings
    assert "fresh" in problem.what
    assert load(agent + 'sleep_after_idle = "off"\n').problems == ()
    assert load(WINDOWS + agent).problems == ()


@pytest.mark.parametrize(
    ("timeout", "window", "first"),
    [
        ("30s", "60s", "restarts it before"),
        ("60s", "60s", "restarts it before"),
        ("1h", "60s", "sleeps after"),
    ],
)
def test_both_idle_knobs_give_one_warning_that_names_the_first(
    load: Load, timeout: str, window: str, first: str
) -> None:
    """Masked if and only if idle_timeout is not longer than the window; never fatal (VAL-10,
    VAL-12, COEX-04, R40)."""
    result = load(
        f'[[agent]]\nname = "a"\nprovider = "claude"\nidle_timeout = "{timeout}"\n'
        f'sleep_after_idle = "{window}"\n'
    )
    [problem] = result.problems
    assert problem.severity is Severity.WARNING
    assert first in problem.what
    assert timeout in problem.what
    assert window in problem.what


def test_an_inherited_window_is_warned_about_only_when_it_never_comes(load: Load) -> None:
    """One shared setting does not make noise for every agent."""
    agent = '[[agent]]\nname = "a"\nprovider = "claude"\nidle_timeout = "{}"\n'
    assert load(WINDOWS + agent.format("1h")).problems == ()
    assert len(load(WINDOWS + agent.format("30s")).problems) == 1
    off = agent.format("30s") + 'sleep_after_idle = "off"\n'
    assert load(WINDOWS + off).problems == ()


@pytest.mark.parametrize(
    ("runtime", "warned"),
    [("subprocess", True), ("k8s", True), ("exec:x", True), ("tmux", False), ("acp", False)],
)
def test_a_zero_window_without_a_boundary_is_warned_about(
    load: Load, runtime: str, warned: bool
) -> None:
    """Allowed, with the risk in words (VAL-11, R8, ROLL-08)."""
    agent = f'[[agent]]\nname = "a"\nattach = false\nsession = "{runtime}"\nprovider = "claude"\n'
    for text in (
        agent + 'sleep_after_idle = "0s"\n',
        '[session_sleep]\nnoninteractive = "0s"\n' + agent,
    ):
        result = load(text)
        assert result.city is not None
        told = ["zero-window-without-boundary" in problem.what for problem in result.problems]
        assert told == ([True] if warned else [])
    assert load(agent + 'sleep_after_idle = "30s"\n').problems == ()


def test_a_cli_that_cannot_resume_is_warned_about_if_asked_to_sleep(load: Load) -> None:
    """An explicit window is honoured and warned; an inherited one is off anyway (R62)."""
    agent = '[[agent]]\nname = "a"\nprovider = "codex"\n'
    [problem] = load(agent + 'sleep_after_idle = "60s"\n').problems
    assert "codex cannot resume" in problem.what
    assert load(WINDOWS + agent).problems == ()
    assert (
        load(agent + 'sleep_after_idle = "60s"\nresume_command = "codex resume x"\n').problems == ()
    )


def test_a_command_nobody_knows_is_warned_about(load: Load) -> None:
    """It may or may not resume; the city loads (R62)."""
    agent = '[[agent]]\nname = "a"\nstart_command = "./mine"\n'
    [problem] = load(WINDOWS + agent).problems
    assert "may start a new conversation" in problem.what
    assert load(agent).problems == ()
    assert load(WINDOWS + agent + 'resume_flag = "--again"\n').problems == ()
    assert load(WINDOWS + agent + "attach = false\n").problems == ()


def test_unknown_runtimes_and_providers_load_with_a_warning(load: Load) -> None:
    """They can host or start nothing, and are no reason to refuse the rest (R6c)."""
    result = load(
        '[session]\nprovider = "zellij"\n[[agent]]\nname = "a"\nsession = "screem"\n'
        'provider = "claud"\n[[agent]]\nname = "b"\nprovider = "claud"\n'
    )
    assert result.city is not None
    assert [problem.key for problem in result.problems] == ["provider", "session", "provider"]
    assert 'did you mean "claude"?' in "".join(problem.remedy for problem in result.problems)
    agents = result.city.agents
    assert (agents["a"].runtime, agents["b"].runtime) == ("screem", "zellij")
    assert not agents["a"].preset_known


def test_a_city_of_only_mistakes_is_answered_quickly(load: Load) -> None:
    """Thousands of problems are counted, not computed; the list stays readable (R5)."""
    text = "".join(f'[[agent]]\nname = "a{i}"\ndepends_on = ["z{i}"]\n' for i in range(3000))
    started = time.monotonic()
    result = load(text)
    assert time.monotonic() - started < 20
    assert len(result.errors) == 501
    assert result.errors[-1].what == "and 2500 more errors"
