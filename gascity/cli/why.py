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
        ["rule", _words(why.get("rule"))],
        ["deadline", _deadline(why.get("deadline"))],
        ["blockers", ", ".join(_blocker(one) for one in why.get("blockers") or ()) or "none"],
    ]
    if why.get("held_back"):
        facts.append(["held back", str(why["held_back"])])
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
    """Name, value, age: `attached  2  3s ago`."""
    value = one.get("value")
    age = one.get("age_s")
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif value is None:
        value = "-"
    elif isinstance(value, str) and "T" in value and value.endswith("Z"):
        value = local_time(value)
    elif isinstance(value, list):
        value = ", ".join(map(str, value)) or "none"
    return [
        str(one.get("name", "")),
        str(value),
        f"{span(float(age))} ago" if isinstance(age, int | float) else "",
    ]


def _policy(policy: Mapping[str, Any]) -> list[str]:
    """The policy chain, winning layer marked, and what became of the request."""
    rows = [
        [key, str(policy[key])]
        for key in ("requested", "effective", "source", "class", "adjustment", "warning")
        if policy.get(key)
    ]
    chain = [_layer(one) for one in policy.get("chain") or policy.get("layers") or ()]
    return _block("policy", rows) + _block("policy chain, strongest first", chain)


def _layer(one: Mapping[str, Any]) -> list[str]:
    """`=> agent  60s  city.toml:12 [[agent]] mayor`; a silent layer says `-`."""
    place = f"{one.get('file') or ''}:{one['line']}" if one.get("line") else one.get("file") or ""
    where = " ".join(str(part) for part in (place, one.get("table")) if part)
    mark = "=>" if one.get("wins") else "  "
    return [f"{mark} {one.get('source')}", str(one.get("says") or "-"), where]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value) if value else "none"
