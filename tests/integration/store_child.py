"""A process that writes to a store in a loop and says so after each commit; it waits to be killed.

Run as: `python store_child.py FILE FROM`. Every line on stdout is an acknowledged number.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, NewBead, Update
from gascity.model.events import Event

path = Path(sys.argv[1])
store = SqliteBeads(path, mirror=EventMirror(path.with_name("events.jsonl"), max_bytes=20_000))
for number in count(int(sys.argv[2])):
    now = datetime.now(UTC)
    store.apply(
        Batch(
            creates=(NewBead(type="task", id=f"n-{number}"),),
            updates=(Update(id="counter", metadata={"number": str(number)}),),
            events=(Event(type="bead.created", ts=now, subject=f"n-{number}"),),
        ),
        now=now,
    )
    print(number, flush=True)
