"""The stable inputs that re-arm a cold session when one of them changes.

Versioned: records of another version are compared by their recorded inputs, so an upgrade re-arms
nobody (R73). Only declared, ordered inputs take part (FP-03, FP-04).

Source: DESIGN §4 (FP-01..08)
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gascity.model.duration import OFF
from gascity.model.plan import CapabilityClass, Policy
from gascity.model.roster import Place

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """`value` is `v<version>:<16 hex>`; `inputs` is the JSON it was made from."""

    value: str
    inputs: str


def fingerprint(place: Place, policy: Policy, kind: CapabilityClass) -> Fingerprint:
    """The fingerprint of one place under its effective policy; equal across processes (FP-06)."""
    return _printed(
        "off" if policy.effective is OFF else policy.effective.ns,
        str(policy.session_class),
        str(place.agent.wake_mode),
        place.runtime,
        str(kind),
        place.agent.depends_on,
        place.template,
        place.slot,
    )


@lru_cache(maxsize=32_768)
def _printed(
    effective: int | str,
    session_class: str,
    wake_mode: str,
    runtime: str,
    capability: str,
    depends_on: tuple[str, ...],
    template: str,
    slot: int | None,
) -> Fingerprint:
    """The same facts always give the same print, so each is made once."""
    facts = {
        "effective": effective,
        "class": session_class,
        "wake_mode": wake_mode,
        "runtime": runtime,
        "capability": capability,
        "depends_on": sorted(depends_on),
        "template": template,
        "slot": slot,
    }
    inputs = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(inputs.encode()).hexdigest()[:16]
    return Fingerprint(value=f"v{VERSION}:{digest}", inputs=inputs)


def still_holds(current: Fingerprint, *, stored: str, stored_inputs: str) -> bool:
    """Whether a latch set under `stored` still speaks of the same policy.

    A stored fingerprint of another version is judged by the inputs that both versions know.
    """
    if not stored:
        return False
    if stored.startswith(f"v{VERSION}:"):
        return stored == current.value
    try:
        then = json.loads(stored_inputs)
        now = json.loads(current.inputs)
    except ValueError:
        return False
    if not isinstance(then, dict):
        return False
    shared = then.keys() & now.keys()
    return bool(shared) and all(then[key] == now[key] for key in shared)


def changed_inputs(current: Fingerprint, stored_inputs: str) -> tuple[str, ...]:
    """The names of the inputs that differ, to explain a re-arm (FP-08)."""
    try:
        then = json.loads(stored_inputs)
    except ValueError:
        return ()
    now = json.loads(current.inputs)
    if not isinstance(then, dict):
        return ()
    return tuple(key for key in now if then.get(key) != now[key])
