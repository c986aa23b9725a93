"""Respond: answer the question a session is pending on, or read what may be answered.

Source: DESIGN §12 (R44, R63, R79); CAP-26
"""

from __future__ import annotations

from gascity.act.operate import Desk, Reply, find
from gascity.act.ports import Refused
from gascity.act.requests_talk import able, no_answer, running
from gascity.model.reading import known_or
from gascity.runtimes.base import Ability, NoSuchAnswer, Responds, RuntimeUnreachable


async def respond(
    desk: Desk, said: str, *, answer: str = "", request: str = "", by: str = "operator"
) -> Reply:
    """Answer it; without an `answer`, the open question and its options, changing nothing.

    Returns:
        `outcome` (`answered` or `asked`), `question`, `options`, `request`, and `chosen`.

    Raises:
        Refused: nothing is asked, it has no such option, or its runtime cannot be answered.
    """
    session = find(desk.snapshot(), said)
    attach = f"attach and answer: gc attach {session.name}"
    runtime = able(desk, session, Ability.RESPOND, "takes no answers", attach)
    assert isinstance(runtime, Responds), "what it declares"
    sight = await running(desk, session, screen=True)
    asked = known_or(sight.pending, None) if sight.pending is not None else None
    if asked is None:
        raise Refused(f"{session.name} asks nothing", f"see gc why {session.name}")
    reply: Reply = {
        "session": session.name,
        "question": asked.question,
        "options": list(asked.options),
        "request": asked.request,
    }
    if not answer:
        return {**reply, "outcome": "asked"}
    try:
        chosen = await runtime.respond(
            session.name, answer, token=session.instance_token, request=request or asked.request
        )
    except NoSuchAnswer as problem:
        raise Refused(f"{session.name}: {problem}", "answer with one of them", exit=2) from None
    except RuntimeUnreachable as problem:
        raise no_answer(session, str(problem)) from None
    desk.poke()
    return {**reply, "outcome": "answered", "chosen": chosen}
