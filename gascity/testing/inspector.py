"""Promises about a whole city at every instant, judged from host, bare records and calls.

Where the overseer judges one drain, this judges what is true of everybody: classes and windows,
doubt, holds, requests, a full disk, crashes, explanations. It shares nothing with the rules.

Source: DESIGN §2, §7, §13 (R7, R9, R14, R21, R26, R39, R41, R75; A2, A3, D4, L4, S7..S10, T1, X1)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from gascity.beads.bead import CLOSED, SESSION, TASK, WAIT, Bead
from gascity.beads.store import Applied, Batch
from gascity.model.city import Agent, City
from gascity.model.reading import Known
from gascity.model.world import Support
from gascity.testing.facts import name_of
from gascity.testing.hosted import DISABLED, FULL, TIMED_ONLY
from gascity.testing.script import AFTER, Moment

if TYPE_CHECKING:
    from gascity.testing.simulated_city import SimulatedCity

PENDING: Final = "idle-stop-pending"
STORE_READS: Final = tuple(f"query {kind}" for kind in (SESSION, TASK, WAIT))
SUPPORT: Final = {"tmux": FULL, "k8s": TIMED_ONLY, "subprocess": DISABLED}
LONGEST, SHORTEST = timedelta(minutes=5), timedelta(seconds=30)


def window_of(agent: Agent, city: City) -> float | None:
    """Seconds an idle session of it is kept warm; None: it is never put to sleep (S9)."""
    kind = "noninteractive"
    if agent.attach:
        kind = f"interactive_{agent.wake_mode}"
    said = agent.sleep_after_idle
    inherited = said is None
    if said is None and agent.rig in city.rigs:
        said = next((v for k, v in city.rigs[agent.rig].sleep.items() if str(k) == kind), None)
    if said is None:
        said = next((v for k, v in city.session_sleep.items() if str(k) == kind), None)
    if said is None or str(said) == "off":
        return None
    can: Support = SUPPORT[agent.runtime]
    if not can.activity_clock:
        return None
    if agent.attach and not (can.attachment_signal and (can.idle_boundary or can.pending_signal)):
        return None
    if agent.attach and inherited and not can.idle_boundary:
        return None
    return float(getattr(said, "seconds", 0.0))


@dataclass(slots=True)
class Inspector:
    """`broken` is empty as long as every promise holds.

    `busy_at` is the monotonic second at which a session last did something, was started, or was
    left by its last person.
    """

    city: SimulatedCity
    broken: list[str] = field(default_factory=list)
    busy_at: dict[str, float] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)  # ends that nobody asked for
    crashes: dict[str, int] = field(default_factory=dict)  # ends that were counted as such
    deaths: int = 0  # of controllers
    refused: bool = False  # the last write failed
    failed_reads: set[str] = field(default_factory=set)
    asleep: dict[str, str] = field(default_factory=dict)  # {name: policy it went to sleep under}
    visited: set[str] = field(default_factory=set)  # seen attached, by any controller
    calls: int = 0
    events: int = 0
    writes: int = 0

    def fault(self, promise: str, name: str, why: str) -> None:
        """A promise is broken."""
        at = self.city.clock.monotonic() - 1000
        self.broken.append(f"{promise}: {name}: {why} (at {at:.6f} s)")

    def was_left(self, name: str) -> None:
        """Its last person is gone; the window begins anew if anybody could know of them (R14)."""
        if name in self.visited:
            self.visited.discard(name)
            self.busy_at[name] = self.city.clock.monotonic()

    def controller_died(self) -> None:
        """Whatever it was doing may end in a count that nobody can explain (L8)."""
        self.deaths += 1
        self.failed_reads.clear()
        self.refused = False

    def structural(self, name: str) -> str:
        """Why a session may not end as idle whatever its record says, or ""."""
        bead = self.city.records().session(name)
        city = self.city.ports.city
        agent = city.agents.get(bead.metadata.get("template", "")) if bead else None
        return "suspended by the config" if agent is not None and agent.suspended else ""

    # -- calls

    def saw(self, moment: Moment) -> None:
        """One call began or ended."""
        self.calls += 1
        name = moment.of
        if moment.when == AFTER:
            self._note_outcome(moment)
            if moment.call == "start" and self.city.runs(name):
                self.busy_at[name] = moment.at
            if moment.call == "send" and not moment.failed:
                self.busy_at[name] = moment.at
            return
        if moment.call == "stop":
            self._judge_stop(name)
        if moment.call == "start":
            self._judge_start(name)

    def _note_outcome(self, moment: Moment) -> None:
        call = moment.call
        if call.startswith(("save ", "create", "clear ")) and call != "save note":
            self.refused = moment.failed and not moment.note.startswith("conflict")
        if call == "attached" and isinstance(moment.value, Known) and moment.value.value:
            self.visited.add(moment.of)
        if call == "save note" and not moment.failed:
            self.refused = False  # there is room again
        if call in STORE_READS:
            (self.failed_reads.add if moment.failed else self.failed_reads.discard)(call)

    def _judge_stop(self, name: str) -> None:
        """D4, S8: nothing is stopped on a store that takes no writes, or trimmed in doubt."""
        if self.refused:
            self.fault("D4", name, "stopped although the last write was refused")
        bead = self.city.records().session(name)
        note = json.loads(bead.metadata.get("stop_note") or "null") if bead is not None else None
        if note is not None and note.get("reason") == "excess" and self.failed_reads:
            self.fault("S8", name, f"trimmed although {sorted(self.failed_reads)} had no answer")

    def _judge_start(self, name: str) -> None:
        """R26: whoever is held is not started."""
        bead = self.city.records().session(name)
        if bead is None:
            return self.fault("S6", name, "started without a record")
        said = bead.metadata
        if said.get("suspended_at"):
            self.fault("S10", name, "started although suspended")
        until = said.get("quarantined_until")
        if until and datetime.fromisoformat(until) > self.city.clock.now():
            self.fault("S10", name, "started although quarantined")
        return None

    # -- writes

    def wrote(self, batch: Batch, applied: Applied, before: Mapping[str, Bead]) -> None:
        """One write that is durable now."""
        self.events += len(batch.events)
        self.writes += 1
        for event in batch.events:
            self._judge_event(str(event.type), event.subject, event.payload)
        for bead_id, new in applied.beads.items():
            old = before.get(bead_id)
            if new.type != SESSION or old is None or old.version == new.version:
                continue
            was, now = old.metadata, new.metadata
            if now.get("sleep_intent") == PENDING and was.get("sleep_intent") != PENDING:
                self._judge_drain(name_of(new), now)
            self._judge_notes(name_of(new), was, now)
            if new.status == CLOSED and old.status != CLOSED:
                self._judge_removal(name_of(new), now)

    def _judge_drain(self, name: str, said: Mapping[str, str]) -> None:
        """S9, T1: only who has a window is drained, and only once it is over on a steady clock."""
        city = self.city.ports.city
        agent = city.agents.get(said.get("template", ""))
        if said.get("sleep_request"):
            return None
        window = window_of(agent, city) if agent is not None else None
        if window is None:
            return self.fault("S9", name, "drained although nothing ever asks it to sleep")
        idle = self.city.clock.monotonic() - self.busy_at.get(name, 0.0)
        if idle < window:
            self.fault("T1", name, f"drained after {idle:g} s of {window:g} s")
        return None

    def _judge_notes(self, name: str, was: Mapping[str, str], now: Mapping[str, str]) -> None:
        """A3: a request ends by itself, half a minute to five minutes after it was made."""
        for key in ("attach_intent", "wake_request"):
            note = json.loads(now.get(key) or "null")
            if note is None or now.get(key) == was.get(key):
                continue
            made, ends = (datetime.fromisoformat(note[word]) for word in ("at", "expires_at"))
            if made > self.city.clock.now():
                continue  # the clock was set back since: it lasts as long from now
            if not SHORTEST <= ends - made <= LONGEST:
                self.fault("A3", name, f"{key} lasts {ends - made}")

    def _judge_removal(self, name: str, said: Mapping[str, str]) -> None:
        """S7: nobody is forgotten while its own run lives."""
        one = self.city.host.of(name)
        if one.running and one.token == said.get("instance_token"):
            self.fault("S7", name, "its record was closed while it runs")
        self.asleep.pop(name, None)

    def _judge_event(self, kind: str, name: str, payload: Mapping[str, object]) -> None:
        """L4, A2: a wake from idle sleep has a hard cause; a counted end really happened."""
        if kind == "session.crashed" and payload.get("exit_intent") == "unexpected_exit":
            self.crashes[name] = self.crashes.get(name, 0) + 1
            if self.crashes[name] > self.exits.get(name, 0) + self.deaths:
                self.fault("A2", name, "a crash was counted, and it had not ended by itself")
        elif kind == "session.stopped":
            was_idle = payload.get("reason") == "idle"
            if was_idle and self.asleep.get(name):
                self.fault("L4", name, "went to sleep twice without a wake between")
            self.asleep[name] = self._policy(name) if was_idle else ""
        elif kind == "session.woke":
            reasons = payload.get("reasons") or [payload.get("reason")]
            assert isinstance(reasons, list | tuple)
            if not any(reasons):
                self.fault("X3", name, "woke for no reason")
            same = self.asleep.get(name) == self._policy(name)
            if self.asleep.get(name) and set(reasons) <= {"config"} and same:
                self.fault("L4", name, "woken from idle sleep by the config alone")
            self.asleep[name] = ""

    def _policy(self, name: str) -> str:
        """Everything in the config that may re-arm a sleeper, as one text."""
        city, bead = self.city.ports.city, self.city.records().session(name)
        agent = city.agents.get(bead.metadata.get("template", "")) if bead is not None else None
        if agent is None:
            return "nobody's"
        routed = (agent.wake_mode, agent.runtime, agent.depends_on)
        said = (agent.sleep_after_idle, agent.attach, *routed)
        rig = city.rigs.get(agent.rig)
        return repr((said, agent.sleep_source, city.session_sleep, rig.sleep if rig else None))
