"""The words of the control socket: one strict JSON object a line in, one (or a stream) out.

Request: `{"v": 1, "op": <op>, ...fields}`. Reply: `{"v": 1, "ok": true, ...fields}`, or
`{"v": 1, "ok": false, "exit": <code>, "what": <text>, "do": <text>}`. A stream sends one object
a line; the last one carries `"end": true`. An outcome that is no success keeps its fields: a wake
that timed out says `{"ok": false, "exit": 4, "outcome": "timed out", "state": "running", ...}`.
The bare lines `ping`, `poke`, `reload` and `stop` are the ecosystem's and answer with bare words.

Source: DESIGN §13 "The control socket"; surface "Command line"
"""

from __future__ import annotations

from typing import Final

VERSION: Final = 1
MAX_LINE_BYTES: Final = 64 * 1024
MAX_CONNECTIONS: Final = 64
MAX_FOLLOWERS: Final = 48  # of them, those that may stay: the rest is for commands
MAX_TURNS: Final = 512  # announced turns, apart from them
IDLE_TIMEOUT_S: Final = 2.0

SOCKET_NAME: Final = "controller.sock"
LOCK_NAME: Final = "controller.lock"

# The bare lines and what they answer: `ping` the pid, the others "ok".
WORDS: Final = ("ping", "poke", "reload", "stop")

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_REFUSED: Final = 3
EXIT_TIMED_OUT: Final = 4
EXIT_NO_CONTROLLER: Final = 5
EXIT_INTERRUPTED: Final = 130

OPS: Final = {
    # op: (request fields, reply fields; "stream" when more than one object answers)
    "status": ("sessions[]", "status: the object of `gc status --json`"),
    "watch": ("sessions[]", "stream of {status} after every patrol that changed something"),
    "why": ("session", "why: verdict, rule, signals[], policy{}, blockers[], deadline, changes[]"),
    "sessions": ("", "names[]: for completion"),
    "events": ("after, types[], session, since, follow", "stream of {event}"),
    "wake": ("session, by, wait, timeout_s", "stream of {progress}, then {outcome, state}"),
    "attach": (
        "session, by, confirm_fresh, timeout_s",
        "stream of {progress, holder}; then {ready, argv[]} | {confirm, consequence} | {outcome}",
    ),
    "attach_cancel": ("session, holder", "outcome"),
    "sleep": ("session, by, force", "outcome, blockers[]"),
    "pin": ("session, owner, reason, for_s, agent", "pin{}"),
    "unpin": ("session, owner", "removed"),
    "pins": ("", "pins[]"),
    "suspend": ("session | all, by", "sessions[]"),
    "resume": ("session | all, by", "sessions[]"),
    "screen": ("session", "session, verdict, rule, kind, question: what it shows now"),
    "peek": ("session, lines", "text"),
    "signal": (
        "session, token, kind, seq, what, question, items[], source, conversation, sub",
        "session, turn, asked: what is known of its hooks now",
    ),
    "turn": ("session, token, what, owner", "{open: true}; it is open until the client hangs up"),
    "nudge": ("session, text, mode: send | wake | queue, by", "outcome, id, text"),
    "respond": ("session, answer, request, by", "outcome, question, options[], chosen"),
    "messages": ("session, all", "messages[]"),
    "unsend": ("id, by", "outcome"),
    "kill": ("session, by", "outcome"),
    "sling": ("target, title, priority", "bead{}"),
    "beads": ("type, status, assignee", "beads[]"),
    "bead": ("id", "bead{}"),
    "bead_claim": ("id, assignee", "bead{}"),
    "bead_close": ("id, reason", "bead{}"),
    "bead_update": ("id, status, assignee, title, priority, metadata{}, blocked_by[]", "bead{}"),
    "hook": ("session_id, claim", "bead{} | null"),
    "wait_add": (
        "session, for_s | until | bead_ids[], any_of, note, elapsed, expires_s, by",
        "wait{}",
    ),
    "waits": ("session, all", "waits[]"),
    "wait_ready": ("id, by", "wait{}"),
    "wait_cancel": ("id, by", "wait{}"),
    "config": ("", "revision, loaded_at, problem"),
    "city_stop": ("controller_only", "stream of {progress}, then {outcome}"),
}
