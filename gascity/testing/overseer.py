"""Watches every call and every write of a city, and says which promise was broken, at once.

The promises are those that must hold at every instant; they are judged from the log of calls and
from the bare records, never by the rules under test.

Source: DESIGN §10, §X (R9, R28, R31, R43, R63; S1..S7 and S10 of the reliability targets)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from gascity.beads.bead import SESSION, TASK, WAIT, Bead
from gascity.beads.store import Applied, Batch
from gascity.model.reading import Known, Unclear
from gascity.model.world import Truth
from gascity.testing.facts import Records, name_of
from gascity.testing.script import BEFORE, Moment

PENDING: Final = "idle-stop-pending"
CONFIRMED: Final = "idle-stop-confirmed"
STORE_READS: Final = {f"query {kind}": kind for kind in (SESSION, TASK, WAIT)}


@dataclass(frozen=True, slots=True)
class Read:
    """One answer a controller got: when, and what it said, or the records as they were then.

    `activity` is what was last read about it at a probe.
    """

    seq: int
    value: object = None
    at: datetime | None = None
    failed: bool = False
    records: Records | None = None
    activity: object = None


@dataclass(slots=True)
class Overseer:
    """`violations` is empty as long as every promise holds. `records` copies what is on disk now.

    `structural` says why a session may not end as idle whatever the records say, or "".
    """

    records: Callable[[], Records]
    structural: Callable[[str], str] = lambda _: ""
    violations: list[str] = field(default_factory=list)
    _seq: int = 0
    _life: int = 0  # the number of the first call of the present controller
    _reads: dict[tuple[str, str], Read] = field(default_factory=dict)
    _stopped: dict[str, int] = field(default_factory=dict)  # {name: end of the last stop}
    _pending: dict[str, int] = field(default_factory=dict)  # {name: pending became durable}

    def new_life(self) -> None:
        """A fresh controller: what the old one read counts no more."""
        self._life = self._seq + 1

    def saw(self, moment: Moment) -> None:
        """One line of the log, before anything is done at that cut."""
        self._seq += 1
        if moment.when == BEFORE:
            if moment.call == "stop":
                self._judge_stop(moment.of, moment.note)
            return
        records = self.records() if moment.call in STORE_READS else None
        probed = moment.call == "wait_for_idle"
        now = self.records().now if probed else None
        activity = self._value("activity", moment.of) if probed else None
        self._reads[moment.call, moment.of] = Read(
            self._seq, moment.value, now, moment.failed, records, activity
        )
        if moment.call == "stop":
            self._stopped[moment.of] = self._seq
        if moment.call == f"save {PENDING}" and not moment.failed:
            self._pending[moment.of] = self._seq

    def wrote(self, batch: Batch, applied: Applied, before: Mapping[str, Bead]) -> None:
        """One write that is durable now."""
        self._seq += 1
        said = [(str(event.type), event.subject) for event in batch.events]
        for bead_id, new in applied.beads.items():
            old = before.get(bead_id)
            if new.type == SESSION and old is not None and old.version != new.version:
                self._judge_write(old, new, said)

    def _broken(self, promise: str, name: str, why: str) -> None:
        self.violations.append(f"{promise}: {name}: {why}")

    def _judge_stop(self, name: str, note: str) -> None:
        """S1, S3, S6, S7: a stop on the idle path needs a record and a fresh, clear, empty look."""
        bead = self.records().session(name)
        if bead is None:
            return self._broken("S6", name, "a stop of a session without a record")
        if f"token {bead.metadata.get('instance_token', '')}" not in note:
            self._broken("S6", name, f"a stop of another run ({note})")
        if bead.metadata.get("stop_note"):
            return None
        if bead.metadata.get("sleep_intent") != PENDING:
            return self._broken("S3", name, "a stop without a durable intent")
        if _is_forced(bead.metadata):
            return None  # an operator's order overrules every wake and every doubt (R64)
        since = max(self._pending.get(name, 0), self._life)
        for call, of in (*((read, "") for read in STORE_READS), ("is_running", name)):
            read = self._reads.get((call, of))
            if read is None or read.seq < since:
                self._broken("S1", name, f"stopped without a look at {call} after the intent")
            elif read.failed:
                self._broken("S7", name, f"stopped although {call} had no answer")
        for wake in sorted(self._wakes_read(name)):
            self._broken("S1", name, f"stopped through {wake}, which it had read")
        for reading in ("attached", "pending", "activity"):
            if isinstance(self._value(reading, name), Unclear):
                self._broken("S7", name, f"stopped although {reading} was unclear")
        self._judge_activity(name)
        return None

    def _judge_activity(self, name: str) -> None:
        """PROBE-02: what it did after the probe voids the probe.

        What was dated alike before the probe happened before it, however the clock was set since.
        """
        probe, activity = self._reads.get(("wait_for_idle", name)), self._value("activity", name)
        if probe is None or probe.at is None or probe.seq < self._life:
            return
        if activity == probe.activity:
            return
        if isinstance(activity, Known) and activity.value is not None and activity.value > probe.at:
            self._broken("S1", name, "stopped although it did something after the probe")

    def _wakes_read(self, name: str) -> set[str]:
        """The hard wakes in what the controller last read about a session."""
        beads: list[Bead] = []
        now = self.records()
        for call, kind in STORE_READS.items():
            read = self._reads.get((call, ""))
            if read is not None and read.records is not None:
                beads += [bead for bead in read.records.beads if bead.type == kind]
        found = set(replace(now, beads=tuple(beads)).needs(name))
        for reading in ("attached", "pending"):
            value = self._value(reading, name)
            if isinstance(value, Known) and value.value:
                found.add(reading)
        if any(_is_in_turn(bead) for bead in beads if name_of(bead) == name):
            found.add("an open turn")
        return found

    def _value(self, call: str, name: str) -> object:
        read = self._reads.get((call, name))
        return read.value if read is not None else None

    def _judge_write(self, old: Bead, new: Bead, said: list[tuple[str, str]]) -> None:
        name = name_of(new)
        was, now = old.metadata, new.metadata
        intent = (was.get("sleep_intent", ""), now.get("sleep_intent", ""))
        if _is_cold(now) and not _is_cold(was) and not _is_forced(was):
            self._judge_commit(name, intent[0], now, said)
        if intent == ("", PENDING) and ("session.draining", name) not in said:
            self._broken("EVT", name, "an intent without session.draining")
        if intent[1] == CONFIRMED and intent[0] != CONFIRMED:
            if intent[0] != PENDING:
                self._broken("S3", name, "confirmed what was never pending")
            self._judge_truth(name, "confirmed")
        if intent[0] and not intent[1]:
            self._judge_end_of_intent(name, was, now, said)
        if _count(now) > _count(was) and ("session.crashed", name) not in said:
            self._broken("A2", name, "a crash was counted that nobody reported")

    def _judge_commit(
        self, name: str, intent: str, now: Mapping[str, str], said: list[tuple[str, str]]
    ) -> None:
        """S2, S4, S5, S7, S10: what may become `asleep: idle`."""
        if intent == PENDING:
            self._broken("S5", name, "a pending intent became asleep: idle")
        self._judge_truth(name, "asleep: idle")
        wakes = self.records().needs(name)
        if wakes:
            self._broken("S2", name, f"asleep: idle through {', '.join(sorted(wakes))}")
        for call in STORE_READS:
            read = self._reads.get((call, ""))
            if read is not None and read.failed:
                self._broken("S7", name, f"asleep: idle although {call} had no answer")
        why = self.structural(name) or ("suspended" if now.get("suspended_at") else "")
        if why:
            self._broken("S10", name, f"asleep: idle although {why}")
        if ("session.stopped", name) not in said:
            self._broken("EVT", name, "asleep: idle without session.stopped")

    def _judge_truth(self, name: str, what: str) -> None:
        """S4: the last look, newer than the stop, said stopped."""
        read = self._reads.get(("is_running", name))
        if read is None or read.value != Truth.STOPPED:
            self._broken("S4", name, f"{what} although it was last seen {read and read.value}")
        elif read.seq < self._stopped.get(name, 0) or read.seq < self._life:
            self._broken("S4", name, f"{what} on a look older than the stop")

    def _judge_end_of_intent(
        self,
        name: str,
        was: Mapping[str, str],
        now: Mapping[str, str],
        said: list[tuple[str, str]],
    ) -> None:
        """EVT, S5: an intent ends in an event that says how; an ambiguous end is counted once."""
        ends = [
            kind
            for kind, subject in said
            if subject == name
            and kind
            in (
                "session.sleep_aborted",
                "session.stopped",
                "session.sleep_recovery_ambiguous",
                "session.woke",
            )
        ]
        keeps_reason = was.get("state") == now.get("state") == "asleep"
        if not ends and not keeps_reason:
            self._broken("EVT", name, "an intent ended and nothing says how")
        for kind in set(ends):
            if ends.count(kind) > 1:
                self._broken("EVT", name, f"{kind} twice for one end")
        if "session.sleep_recovery_ambiguous" in ends:
            if was.get("sleep_intent") != PENDING:
                self._broken("S5", name, "ambiguous although the stop was confirmed")
            quarantined = now.get("state") == "quarantined"
            if was.get("state") == "awake" and not quarantined and _count(now) != _count(was) + 1:
                self._broken("S5", name, "an ambiguous end that was not counted once")


def _is_cold(metadata: Mapping[str, str]) -> bool:
    return metadata.get("state") == "asleep" and metadata.get("sleep_reason") == "idle"


def _is_in_turn(bead: Bead) -> bool:
    """Whether its present run said that it is in a turn (R48)."""
    token = bead.metadata.get("open_turn", "")
    return bool(token) and token == bead.metadata.get("instance_token")


def _is_forced(metadata: Mapping[str, str]) -> bool:
    return bool(json.loads(metadata.get("sleep_request") or "{}").get("force"))


def _count(metadata: Mapping[str, str]) -> int:
    return len(json.loads(metadata.get("recent_exits") or "[]"))
