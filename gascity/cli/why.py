"""`gc why`: the whole judgement of one session, for people.

Source: DESIGN §11 (STAT-11, R76); surface "Command line"
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from gascity.cli.ask import ask
from gascity.cli.failure import DONE
from gascity.cli.output import print_json
from gascity.cli.place import find_city
from gascity.cli.wake import add_session
from gascity.report.table import columns, local_time, safe, span


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc why`."""
    add_session(parser)
    parser.add_argument("--json", action="store_true", help="the judgement as an object")


def run(args: argparse.Namespace) -> int:
    """Print why the session is as it is and what would change that."""
    why = ask(find_city(args), "why", session=args.session)["why"]
    if args.json:
        print_json(why)
        return DONE
    for line in explained(why):
        print(line)
    return DONE


def explained(why: Mapping[str, Any]) -> list[str]:
    """The judgement as lines: verdict, rule, deadline, blockers, signals, policy, changes."""
    lines = [safe(why.get("verdict") or "nothing was decided yet")]
    facts = [
        ["state", _state(why)],
        ["rule", _words(why.get("rule"))],
        ["deadline", _deadline(why.get("deadline"))],
        ["blockers", ", ".join(_blocker(one) for one in why.get("blockers") or ()) or "none"],
    ]
    for key in ("held_back", "last_error"):
        if why.get(key):
            facts.append([key.replace("_", " "), str(why[key])])
    if sources := why.get("wake_sources"):
        facts.append(["can be woken by", _words(sources)])
    lines += _block("", facts)
    lines += _block("signals", [_signal(one) for one in why.get("signals") or ()])
    lines += _policy(why.get("policy") or {})
    changes = why.get("changes") or ()
    lines += _block("what would change it", [[_words(one)] for one in changes])
    return lines


def _block(title: str, rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    head = ["", f"{title}:"] if title else []
    return head + [f"  {line}" for line in columns(rows)]


def _state(why: Mapping[str, Any]) -> str:
    reason = f" ({why['sleep_reason']})" if why.get("sleep_reason") else ""
    since = f" since {local_time(why['since'])}" if why.get("since") else ""
    return f"{why.get('state') or 'unknown'}{reason}{since}"


def _deadline(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("at")
    return local_time(value) if value else "none"


def _blocker(one: Any) -> str:
    if not isinstance(one, Mapping):
        return str(one)
    detail = one.get("detail") or ", ".join([*one.get("dependents", ()), *one.get("roots", ())])
    return f"{one.get('name')} ({detail})" if detail else str(one.get("name"))


def _signal(one: Mapping[str, Any]) -> list[str]:
    """Name, value, age, detail: `attached  2  3s ago`; a doubtful answer says so by its value."""
    value = one.get("value")
    health = str(one.get("health") or "known")
    if health != "known":
        value = health
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, str) and "T" in value and value.endswith("Z"):
        value = local_time(value)
    elif isinstance(value, list):
        value = ", ".join(map(str, value))
    age = one.get("age_s")
    return [
        str(one.get("name", "")),
        str(value) if value not in (None, "") else "none",
        f"{span(float(age))} ago" if isinstance(age, int | float) else "",
        str(one.get("detail") or ""),
    ]


def _policy(policy: Mapping[str, Any]) -> list[str]:
    """The policy chain, winning layer marked, and what became of the request."""
    rows = [
        [key, str(policy[key])]
        for key in (
            "requested",
            "effective",
            "source",
            "class",
            "adjustment",
            "masked_by",
            "capability",
            "warning",
        )
        if policy.get(key)
    ]
    chain = [_layer(one) for one in policy.get("chain") or ()]
    return _block("policy", rows) + _block("policy chain, strongest first", chain)


def _layer(one: Mapping[str, Any]) -> list[str]:
    """`=> agent  60s  city.toml:12`; a silent layer says `-`."""
    mark = "=>" if one.get("wins") else "  "
    return [
        f"{mark} {one.get('layer')}",
        str(one.get("value") or "-"),
        str(one.get("origin") or ""),
    ]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value) if value else "none"
