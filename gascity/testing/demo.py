"""`make demo`: a real city falls asleep, stays asleep, and wakes; told as it happens.

Stand-in agents on a real tmux, the real controller through the command line. Each step waits for
what it announces, with a deadline; the first that does not come true ends the demo with exit 1.

Source: surface "Set-up"; DESIGN §0
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Final

from gascity.testing.stage import Stage, Unmet, is_alive

CITY: Final = Path(__file__).resolve().parents[2] / "config" / "demo" / "city.toml"
COLD_PATROLS: Final = 4
EXIT_UNMET: Final = 1
EXIT_INTERRUPTED: Final = 130


def main() -> int:
    """Play it; 0 when all of it came true."""
    if shutil.which("tmux") is None:
        print("demo: tmux is not installed; install tmux 3.2 or newer", file=sys.stderr)
        return EXIT_UNMET
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cleans up, as Ctrl-C does
    try:
        with Stage(CITY.read_text(encoding="utf-8")) as city:
            play(city)
            nothing_is_left(city)
        if city.root.exists():
            raise Unmet(f"{city.root} to be removed")
    except Unmet as unmet:
        print(f"\ndemo: expected {unmet}", file=sys.stderr)
        return EXIT_UNMET
    except KeyboardInterrupt:
        print("\ndemo: interrupted; cleaned up", file=sys.stderr)
        return EXIT_INTERRUPTED
    city.say("temporary folder removed")
    print(f"\nAll of it came true, in {time.monotonic() - city.began:.0f} seconds.")
    return 0


def play(city: Stage) -> None:
    """The steps, in order."""
    falls_asleep(city)
    stays_asleep(city)
    survives_a_restart(city)
    wakes_by_work(city)
    wakes_on_request(city)
    stays_up_while_busy(city)
    stays_up_while_it_asks(city)


def falls_asleep(city: Stage) -> None:
    """A started session goes cold when its window closes, and its processes are gone."""
    city.chapter("A city starts: mayor (2s window, for people), worker (0s, headless)")
    city.gc("start")
    city.wait("mayor to be awake", lambda: city.is_awake("mayor"))
    pids = city.wait("mayor to have processes", lambda: city.tree("mayor"))
    city.say(f"mayor runs: {listed(pids)}")
    city.gc("status")
    city.chapter("Nobody needs mayor: two quiet seconds, then it goes cold")
    city.wait("mayor to fall asleep", lambda: city.is_cold("mayor"))
    city.wait("mayor's processes to be gone", lambda: not any(map(is_alive, pids)))
    city.say(f"gone: {listed(pids)}")
    city.gc("status")


def stays_asleep(city: Stage) -> None:
    """Patrols go by and nothing is written."""
    city.chapter(f"It stays asleep: {COLD_PATROLS} patrols go by, nothing is written")
    written, seq, patrol = files(city), city.seen_seq, city.patrols()
    city.wait("patrols to go by", lambda: city.patrols() >= patrol + COLD_PATROLS)
    if not (city.is_cold("mayor") and city.seen_seq == seq and files(city) == written):
        raise Unmet("a cold city to write nothing and stay cold")
    city.say(f"patrol {patrol} to {city.patrols()}: still event {seq}, no file of .gc touched")


def survives_a_restart(city: Stage) -> None:
    """A new controller finds it cold and leaves it so: config alone wakes nobody who slept."""
    city.chapter("The controller is restarted: cold stays cold")
    city.gc("stop", "--controller-only")
    city.gc("start")
    city.wait("the new controller's patrols", lambda: city.patrols() >= COLD_PATROLS)
    if not city.is_cold("mayor") or city.tree("mayor"):
        raise Unmet("mayor to be cold after a restart of the controller")
    city.say(f"{city.patrols()} patrols later mayor is still cold")


def wakes_by_work(city: Stage) -> None:
    """Work wakes the cold worker, which claims it, does it, closes it, and goes cold again."""
    city.chapter("Work wakes the worker, which does it and goes cold again")
    bead = city.gc("sling", "worker", "count the beans").split()[0]
    city.wait("worker to be awake", lambda: city.is_awake("worker"))
    pids = city.wait("worker to have processes", lambda: city.tree("worker"))
    city.say(f"worker runs: {listed(pids)}")
    kept_up(city, "worker", "work")
    city.wait("worker to fall asleep", lambda: city.is_cold("worker"))
    if f"{bead}  task" in city.gc("bead", "list", shows=False):
        raise Unmet(f"{bead} to be closed before the worker sleeps")
    city.say(f"{bead} is closed, worker is cold, gone: {listed(pids)}")


def wakes_on_request(city: Stage) -> None:
    """An operator's wake is answered at once, not at the next patrol."""
    city.chapter("A wake request does not wait for a patrol")
    asked = time.monotonic()
    city.gc("wake", "mayor")
    took = time.monotonic() - asked
    city.say(f"mayor runs {took:.2f} s after the request: {listed(city.tree('mayor'))}")


def stays_up_while_busy(city: Stage) -> None:
    """A command that prints nothing outlasts the window and keeps the session up."""
    city.chapter("Silent is not idle: mayor runs a quiet command for longer than its window")
    city.gc("session", "nudge", "mayor", "fg sleep 4")
    kept_up(city, "mayor", "idle_boundary", alone=True)
    city.gc("status", "mayor")


def stays_up_while_it_asks(city: Stage) -> None:
    """A question keeps the session up until a person has answered it."""
    city.chapter("A question is not idle either: mayor asks for permission")
    city.wait("mayor to be at its prompt", lambda: "idle_boundary" not in blockers(city, "mayor"))
    city.gc("session", "nudge", "mayor", "permission")
    kept_up(city, "mayor", "pending", alone=True)
    with city.attached("mayor") as press:
        city.say("attached; pressing 1 for yes, then Ctrl-b d to leave")
        press("1")
        city.wait("the answer to arrive", lambda: "pending" not in blockers(city, "mayor"))
        kept_up(city, "mayor", "attached")
    city.say("answered and detached; the window counts from here")
    city.wait("mayor to fall asleep again", lambda: city.is_cold("mayor"))
    city.gc("status")


def nothing_is_left(city: Stage) -> None:
    """`gc stop` ends sessions, controller and tmux server."""
    city.chapter("The end: nothing is left")
    pid = city.controller_pid()
    city.gc("stop")
    left = city.started | {pid}
    city.wait("controller and sessions to be gone", lambda: not any(map(is_alive, left)))
    city.wait("the tmux server to be gone", lambda: not city.tmux("list-sessions"))
    city.say(f"controller {pid}, the tmux server and all {len(left) - 1} session processes: gone")


def kept_up(city: Stage, session: str, blocker: str, *, alone: bool = False) -> None:
    """Wait until the blocker holds the session up, and let `gc why` say so.

    `alone` means without the window: the session would be asleep but for this.
    """

    def holds() -> bool:
        found = blockers(city, session)
        return blocker in found and not (alone and "keep_warm" in found)

    city.wait(f"{session} to be kept up by {blocker}", holds)
    why = city.gc("why", session, shows=False).splitlines()
    city.say(f"gc why {session}", "$")
    for line in (why[0], *(one for one in why if one.strip().startswith("blockers"))):
        city.say(f"  {line}", " ")
    if blocker not in why[0]:
        raise Unmet(f"`gc why {session}` to name {blocker}")


def blockers(city: Stage, session: str) -> list[str]:
    """What keeps the session up, as `gc status` has it."""
    return list(city.session(session).get("blockers", ()))


def files(city: Stage) -> dict[str, int]:
    """{file of .gc: when it was last written, in ns}."""
    return {one.name: one.stat().st_mtime_ns for one in (city.folder / ".gc").iterdir()}


def listed(pids: set[int]) -> str:
    """`pids 12, 13`."""
    return f"pids {', '.join(map(str, sorted(pids)))}" if pids else "no process"


if __name__ == "__main__":
    sys.exit(main())
