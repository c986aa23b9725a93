"""What a runtime is started with, as one hash: the only thing drift compares (R32).

Command, arguments, environment, work dir and runtime; never sleep policy, screens or readiness
hints.

Source: DESIGN §10 (R32); REC-09
"""

from __future__ import annotations

import hashlib
import json

from gascity.model.city import Agent, City


def start_hash(agent: Agent, city: City) -> str:
    """16 hex digits that change exactly when a start would run something else."""
    facts = [
        agent.start_command,
        list(agent.args),
        sorted(agent.env.items()),
        agent.work_dir,
        agent.runtime,
        city.rigs[agent.rig].path if agent.rig in city.rigs else "",
    ]
    text = json.dumps(facts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
