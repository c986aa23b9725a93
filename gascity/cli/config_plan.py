"""`gc config plan`: what would become of every session, what is in the way, what to write.

Source: DESIGN §2, §7 (CFG-19..22, R4, R40, R61, R62); surface "Command line"
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gascity.config.proposal import block, proposed, with_windows
from gascity.decide.forecast import DEMAND, Outlook, Verdict, expected_capability, forecast
from gascity.model.city import City, SessionClass, Source
from gascity.model.duration import Duration, KeepWarm
from gascity.model.plan import CapabilityClass
from gascity.observe.demand import foreign_demand

_RULES: Final = {
    "legacy_off": "nothing asks for it",
    "agent": "its own table says so",
    "rig_override": "an override of its rig says so",
    "agent_patch": "a patch says so",
    "rig_default": "its rig says so for the class",
    "workspace_default": "[session_sleep] says so for the class",
    "fresh-agent-default": "each start is a new conversation, and the default is off",
    "named-always": "an always session takes no inherited window",
    "no-resume": "its CLI does not get a conversation back, so an inherited window is off",
    "capability-disabled": "its runtime has no clock of activity",
    "interactive-contract": "its runtime cannot tell whether somebody is attached",
    "timed-only-inherited": "only a clock would guard it, so an inherited window is off",
}
_HELD: Final = {
    "no-slots": "max_active_sessions = 0",
    "workspace": "suspended, the whole city",
    "agent": "suspended by its own table, an override or a patch",
}
_LONG: Final = Duration(30 * 60 * 10**9, "30m")
_SHORT: Final = Duration(60 * 10**9, "1m")
_IN_WORDS: Final = {Verdict.SLEEPS: "would sleep", Verdict.NEVER: "never", Verdict.HELD: "held"}
_ENOUGH_RIGS: Final = 3
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Lines to write into city.toml, and who would change: (agent, before, after)."""

    lines: str
    changes: tuple[tuple[str, str, str], ...]


def plan(city: City) -> tuple[tuple[Outlook, ...], tuple[Proposal, ...]]:
    """The outlook of every session, and what could be written, the most general first."""
    foreign = foreign_demand(city)
    measured = measured_in(city)

    def looked(one: City) -> tuple[Outlook, ...]:
        return forecast(one, foreign=foreign, measured=measured)

    looks = looked(city)
    found = []
    if any(kind == DEMAND for look in looks for kind, _ in look.blocks):
        found.append(_about_demand(looks))
    tries: list[tuple[str, City]] = [
        (block(windows), with_windows(city, windows))
        for windows in (windows_for(city, looks), _for_fresh(city, looks))
        if windows
    ]
    tries += _for_one(city, looks)
    for lines, changed in tries:
        changes = _changes(looks, looked(changed))
        if changes:
            found.append(Proposal(lines=lines, changes=changes))
            break
    return looks, tuple(found)


def measured_in(city: City) -> dict[str, CapabilityClass]:
    """{agent: what its runtime was last seen to allow}; {} if nothing was ever recorded."""
    from gascity.cli.ask import ask
    from gascity.cli.books import has_store
    from gascity.cli.failure import Failure, NoController
    from gascity.cli.offline import recorded_status

    if not has_store(city.path) or not os.access(city.path, os.W_OK):
        return {}
    try:
        try:
            status = ask(city.path, "status")["status"]
        except NoController:
            status = recorded_status(city.path, [])
    except Failure:
        return {}
    found = {}
    for one in status.get("sessions") or ():
        kind = (one.get("capability") or {}).get("class")
        if kind in set(CapabilityClass):
            found[one["template"]] = CapabilityClass(kind)
    return found


def windows_for(city: City, looks: Iterable[Outlook]) -> Mapping[SessionClass, KeepWarm]:
    """The class defaults to propose: for classes of which somebody runs and nothing is said."""
    running = [look for look in looks if look.verdict is not Verdict.HELD]
    silent = [look for look in running if look.rule == "legacy_off"]
    blind = [
        look
        for look in running
        if not look.agent.attach and look.capability is not CapabilityClass.FULL
    ]
    present = {look.agent.session_class for look in silent}
    return proposed(city, present, is_safe=not blind)


def _for_fresh(city: City, looks: Iterable[Outlook]) -> Mapping[SessionClass, KeepWarm]:
    """A window for what starts a new conversation each time anyway, where that class is silent."""
    kind = SessionClass.INTERACTIVE_FRESH
    asked = any(look.agent.session_class is kind and look.rule == "legacy_off" for look in looks)
    return {kind: _LONG} if asked and kind not in city.session_sleep else {}


def _about_demand(looks: Iterable[Outlook]) -> Proposal:
    """What lets anybody sleep at all, where work is kept by another tool (R61)."""
    kept = tuple(
        (look.agent.identity, "kept awake", str(look.after))
        for look in looks
        if look.after is not None and any(kind == DEMAND for kind, _ in look.blocks)
    )
    lines = (
        '[beads]\nprovider = "gascity"    # if work is kept here from now on; else each agent\n'
        '# work_query = "…"        # is given a command that prints its work\n'
    )
    return Proposal(lines=lines, changes=kept)


def _for_one(city: City, looks: Iterable[Outlook]) -> Iterator[tuple[str, City]]:
    """A patch for one agent that no class default would reach, as an example to follow."""
    wanted = [look for look in looks if look.rule in ("legacy_off", "named-always")]
    for look in sorted(wanted, key=lambda one: one.rule == "named-always"):
        agent = look.agent
        rig, _, name = agent.identity.rpartition("/")
        lines = ["[[patches.agent]]", *([f'dir = "{rig}"'] if rig else []), f'name = "{name}"']
        is_blind = agent.attach and not expected_capability(agent.runtime).has_attachment_signal
        if is_blind:
            lines.append("attach = false            # nobody attaches to it there")
        limit = agent.idle_timeout
        window = _LONG if limit is None or limit > _LONG else _SHORT
        lines.append(f'sleep_after_idle = "{window}"')
        patched = replace(
            agent,
            attach=agent.attach and not is_blind,
            sleep_after_idle=window,
            sleep_source=Source.AGENT_PATCH,
        )
        yield (
            "\n".join(lines) + "\n",
            replace(city, agents={**city.agents, agent.identity: patched}),
        )


def starter_block(city: City) -> tuple[Mapping[SessionClass, KeepWarm], Proposal]:
    """The class defaults to start with, and whom they change (CFG-19..22)."""
    foreign, measured = foreign_demand(city), measured_in(city)
    looks = forecast(city, foreign=foreign, measured=measured)
    windows = windows_for(city, looks)
    after = forecast(with_windows(city, windows), foreign=foreign, measured=measured)
    return windows, Proposal(lines=block(windows), changes=_changes(looks, after))


def _changes(
    before: Iterable[Outlook], after: Iterable[Outlook]
) -> tuple[tuple[str, str, str], ...]:
    """(agent, what it was, what it becomes) of each whose outlook changes."""
    return tuple(
        (old.agent.identity, _short(old), _short(new))
        for old, new in zip(before, after, strict=True)
        if old.after != new.after
    )


def _short(look: Outlook) -> str:
    return str(look.after) if look.after is not None else f"never ({look.rule})"


def as_dict(city: City, looks: Iterable[Outlook], found: Iterable[Proposal]) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "schema": 1,
        "city": city.name,
        "incomplete": city.incomplete,
        "sessions": [
            {
                "session": look.session,
                "agent": look.agent.identity,
                "class": look.agent.session_class.value,
                "verdict": look.verdict.value,
                "after": str(look.after) if look.after is not None else None,
                "rule": look.rule,
                "source": look.policy.source.value,
                "capability": look.capability.value,
                "blocks": [{"kind": kind, "why": why} for kind, why in look.blocks],
            }
            for look in looks
        ],
        "proposals": [
            {
                "lines": one.lines.splitlines(),
                "changes": [
                    {"agent": name, "before": old, "after": new} for name, old, new in one.changes
                ],
            }
            for one in found
        ],
    }


def as_lines(city: City, looks: tuple[Outlook, ...], found: Iterable[Proposal]) -> Iterator[str]:
    """The same for people."""
    count = {v: sum(look.verdict is v for look in looks) for v in Verdict}
    told = ", ".join(f"{count[v]} {_IN_WORDS[v]}" for v in Verdict)
    yield f"{city.name}: {len(city.agents)} agents, {len(looks)} sessions and pools: {told}"
    for verdict in Verdict:
        groups: dict[tuple[str, str], list[Outlook]] = {}
        for look in looks:
            if look.verdict is verdict:
                window = f"after {look.after}" if look.after is not None else ""
                groups.setdefault((window, look.rule), []).append(look)
        if groups:
            yield f"\n{_IN_WORDS[verdict]}"
        for (window, rule), ones in groups.items():
            words = (_HELD if verdict is Verdict.HELD else _RULES).get(rule, "suspended")
            yield from _wrapped(f"{window} {rule}: {words}".strip(), _names(ones))
    blocks: dict[tuple[str, str], list[Outlook]] = {}
    for look in looks:
        for reason in look.blocks:
            blocks.setdefault(reason, []).append(look)
    if blocks:
        yield "\nin the way today"
    for (kind, why), ones in blocks.items():
        yield from _wrapped(f"{kind}: {why}", _names(ones))
    for one in found:
        yield "\nto write into city.toml"
        yield from (f"  {line}" for line in one.lines.splitlines())
        yield from effect(one)


def effect(one: Proposal) -> Iterator[str]:
    """Whom the lines change, and into what."""
    if not one.changes:
        yield "without which nothing else takes effect"
        return
    yield "which changes"
    groups: dict[tuple[str, str], list[str]] = {}
    for name, old, new in one.changes:
        groups.setdefault((old, new), []).append(name)
    for (old, new), names in groups.items():
        yield from _wrapped(f"{old} → {new}", _collapsed(dict.fromkeys(names)))


def _names(looks: Iterable[Outlook]) -> str:
    """The agents of some sessions, each once."""
    return _collapsed(dict.fromkeys(look.agent.identity for look in looks))


def _collapsed(identities: Iterable[str]) -> str:
    """Identities in one line; one that many rigs have is said once."""
    by_name: dict[str, list[str]] = {}
    for identity in identities:
        rig, _, name = identity.rpartition("/")
        by_name.setdefault(name if rig else f"/{name}", []).append(identity)
    words: list[str] = []
    for name, ones in by_name.items():
        words += [f"{name} in {len(ones)} rigs"] if len(ones) >= _ENOUGH_RIGS else ones
    return ", ".join(words)


def _wrapped(head: str, names: str) -> Iterator[str]:
    yield f"  {head}"
    yield from textwrap.wrap(
        names, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
