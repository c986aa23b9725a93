"""Kill the controller in the middle of a drain, three times, and see what its successor does.

The agent refuses to end when asked, so that its stop takes three seconds: time to hit. What is
found at the next start decides, not what was meant: see docs/concepts/recovery.md.

    .venv/bin/python examples/02_crash_mid_drain.py
"""

from __future__ import annotations

import os
import signal
import sys

from gascity.testing.stage import Stage, Unmet, is_alive

CITY = """\
[workspace]
name = "crash"
[daemon]
patrol_interval = "1s"
shutdown_timeout = "3s"
[session_sleep]
noninteractive = "1s"
[[agent]]
name = "worker"
attach = false
start_command = '''
trap '' TERM HUP
while :; do printf '> '; read -r line && echo "you said: $line" || sleep 0.2; done
'''
ready_prompt_prefix = "> "
"""


def main() -> int:
    """Three crashes; 0 when each was mended as the recovery table says."""
    try:
        with Stage(CITY) as city:
            city.gc("start")
            still_running(city)
            gone_meanwhile(city)
            work_meanwhile(city)
            city.chapter("The end")
            city.gc("stop")
    except Unmet as unmet:
        print(f"\nexpected {unmet}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def still_running(city: Stage) -> None:
    """Running, with a stop announced: the drain goes on."""
    city.chapter("1. The session still runs: its drain goes on")
    pids = crash_mid_drain(city)
    if not any(map(is_alive, pids)):
        raise Unmet("the session to outlive the controller")
    city.say(f"the controller is gone, the session still runs: pids {sorted(pids)}")
    city.gc("status")
    city.gc("start")
    city.wait("worker to be asleep", lambda: city.is_cold("worker"))
    city.wait("its processes to be gone", lambda: not any(map(is_alive, pids)))
    city.gc("status")


def gone_meanwhile(city: Stage) -> None:
    """Stopped, with a stop announced and not confirmed: nobody can tell why it is down."""
    city.chapter("2. The session is gone too: ambiguous, said so, counted as a crash")
    city.gc("wake", "worker")
    for pid in crash_mid_drain(city):
        os.kill(pid, signal.SIGKILL)
    city.say("controller and session are gone; was that the stop, or did it die of something?")
    seq = city.seen_seq
    city.gc("start")
    city.wait(
        "the doubt to be told", lambda: city.happened("session.sleep_recovery_ambiguous", seq)
    )
    city.wait("worker to be evaluated as any session", lambda: city.is_awake("worker"))
    city.say("worker is up again, and the exit counts towards quarantine")


def work_meanwhile(city: Stage) -> None:
    """Running, with a stop announced, and work has come: the stop is called off."""
    city.chapter("3. Work comes while nobody controls: the stop is called off")
    pids = crash_mid_drain(city)
    bead = city.gc("sling", "worker", "count the beans").split()[0]
    city.gc("start")
    city.wait("work to hold it up", lambda: "work" in city.session("worker").get("blockers", ()))
    if not all(map(is_alive, pids)):
        raise Unmet("the session to be the same as before")
    city.gc("status")
    city.say("the same processes as before; closing the bead lets it sleep")
    city.gc("bead", "close", bead)
    city.wait("worker to be asleep", lambda: city.is_cold("worker"))


def crash_mid_drain(city: Stage) -> set[int]:
    """Wait for the next drain, kill the controller in it; the session's pids."""
    city.wait("worker to be awake", lambda: city.is_awake("worker"))
    pids, seq = city.tree("worker"), city.seen_seq
    city.wait("a drain of worker", lambda: city.happened("session.draining", seq))
    controller = city.controller_pid()
    os.kill(controller, signal.SIGKILL)
    city.say(f"kill -9 {controller}", "$")
    city.wait("the controller to be gone", lambda: not city.controller_pid())
    return pids


if __name__ == "__main__":
    sys.exit(main())
