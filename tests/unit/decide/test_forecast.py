"""What would become of each session, judged before anything runs, as a patrol would judge it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gascity.decide.forecast import Outlook, Verdict, expected_capability, forecast
from gascity.decide.policy import effective_policy, requested_policy
from gascity.model.city import (
    Agent,
    City,
    NamedMode,
    NamedSession,
    Pool,
    Resume,
    Rig,
    SessionClass,
    Source,
    WakeMode,
)
from gascity.model.duration import OFF, Duration, seconds
from gascity.model.plan import CapabilityClass
from gascity.model.roster import fixed_places

MINUTE = seconds(60)
CLAUDE: dict[str, Any] = {
    "preset": "claude",
    "preset_known": True,
    "resume": Resume(flag="--resume"),
}


def outlook(more: Mapping[str, Any], *, foreign: str = "", **city: Any) -> Outlook:
    """The outlook of one agent in a city with a window for every class."""
    agent = Agent(**{"identity": "a", "name": "a", **CLAUDE, **more})
    sleep = dict.fromkeys(SessionClass, MINUTE)
    whole = City(
        **{"name": "c", "path": "/c", "agents": {"a": agent}, "session_sleep": sleep, **city}
    )
    return forecast(whole, foreign=foreign)[0]


@pytest.mark.parametrize(
    ("agent", "city", "verdict", "rule"),
    [
        ({}, {}, Verdict.SLEEPS, "workspace_default"),
        ({"sleep_after_idle": MINUTE}, {}, Verdict.SLEEPS, "agent"),
        (
            {"sleep_after_idle": OFF, "sleep_source": Source.AGENT_PATCH},
            {},
            Verdict.NEVER,
            "agent_patch",
        ),
        ({}, {"session_sleep": {}}, Verdict.NEVER, "legacy_off"),
        (
            {"wake_mode": WakeMode.FRESH},
            {"session_sleep": {SessionClass.INTERACTIVE_FRESH: OFF}},
            Verdict.NEVER,
            "fresh-agent-default",
        ),
        (
            {},
            {"named_sessions": (NamedSession(identity="a", template="a", mode=NamedMode.ALWAYS),)},
            Verdict.NEVER,
            "named-always",
        ),
        ({"resume": Resume()}, {}, Verdict.NEVER, "no-resume"),
        ({"runtime": "subprocess"}, {}, Verdict.NEVER, "interactive-contract"),
        ({"runtime": "nobody"}, {}, Verdict.NEVER, "capability-disabled"),
        ({"runtime": "exec:./x", "attach": False}, {}, Verdict.SLEEPS, "workspace_default"),
        ({"suspended": True}, {}, Verdict.HELD, "agent"),
        ({}, {"suspended": True}, Verdict.HELD, "workspace"),
        ({"rig": "r"}, {"rigs": {"r": Rig(name="r", suspended=True)}}, Verdict.HELD, "rig r"),
        ({"pool": Pool(max=0)}, {}, Verdict.HELD, "no-slots"),
        ({"pool": Pool(max=2)}, {}, Verdict.SLEEPS, "workspace_default"),
    ],
)
def test_each_verdict_names_its_rule(
    agent: Mapping[str, Any], city: Mapping[str, Any], verdict: Verdict, rule: str
) -> None:
    """Sleeps, never or held, and the layer, adjustment or hold that decides (R4, R7, R62)."""
    found = outlook(agent, **city)
    assert (found.verdict, found.rule) == (verdict, rule)
    assert (found.after is not None) is (verdict is Verdict.SLEEPS)


@pytest.mark.parametrize(
    ("agent", "foreign", "kinds"),
    [
        ({}, "", []),
        ({}, "elsewhere", ["demand"]),
        ({"work_query": "q"}, "elsewhere", []),
        ({"resume": Resume()}, "", ["resume"]),
        ({"preset": "", "preset_known": False, "resume": Resume()}, "", ["resume"]),
        (
            {"preset": "", "preset_known": False, "resume": Resume(), "attach": False},
            "",
            [],
        ),
        ({"runtime": "nobody"}, "", ["runtime"]),
        ({"runtime": "acp"}, "", ["runtime"]),
        ({"runtime": "k8s", "attach": False}, "", ["runtime"]),
        ({"idle_timeout": seconds(30)}, "", ["idle_timeout"]),
        ({"idle_timeout": seconds(61)}, "", []),
        ({"suspended": True}, "elsewhere", []),
    ],
)
def test_what_is_in_the_way_is_told_apart(
    agent: Mapping[str, Any], foreign: str, kinds: list[str]
) -> None:
    """Demand that cannot be read, resume, runtime, idle_timeout (R40, R61, R62)."""
    assert [kind for kind, _ in outlook(agent, foreign=foreign).blocks] == kinds


def test_a_pool_and_its_named_sessions_are_told_apart() -> None:
    """Slots and named sessions count apart (R4)."""
    agent = Agent(identity="a", name="a", pool=Pool(max=2), **CLAUDE)
    named = NamedSession(identity="chief", template="a", mode=NamedMode.ALWAYS)
    city = City(name="c", path="/c", agents={"a": agent}, named_sessions=(named,),
                session_sleep={SessionClass.INTERACTIVE_RESUME: MINUTE})  # fmt: skip
    assert [(one.session, one.verdict) for one in forecast(city)] == [
        ("chief", Verdict.NEVER),
        ("a-*", Verdict.SLEEPS),
    ]


def test_what_was_measured_is_believed() -> None:
    """A runtime that turned out to show no safe moment is judged by that (CAP-15..17)."""
    agent = Agent(identity="a", name="a", **CLAUDE)
    city = City(name="c", path="/c", agents={"a": agent},
                session_sleep={SessionClass.INTERACTIVE_RESUME: MINUTE})  # fmt: skip
    [full] = forecast(city)
    [timed] = forecast(city, measured={"a": CapabilityClass.TIMED_ONLY})
    assert (full.verdict, timed.verdict) == (Verdict.SLEEPS, Verdict.NEVER)
    assert timed.rule == "timed-only-inherited"


def test_the_outlook_is_the_patrols_own_judgement() -> None:
    """The same functions decide: no second notion of a policy (POL-01)."""
    agent = Agent(identity="a", name="a", sleep_after_idle=Duration(0, "0s"), **CLAUDE)
    city = City(name="c", path="/c", agents={"a": agent})
    [place] = fixed_places(city).values()
    policy = effective_policy(requested_policy(agent, city), place, expected_capability("tmux"))
    assert forecast(city)[0].policy == policy
