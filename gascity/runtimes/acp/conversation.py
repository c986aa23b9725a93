"""The client's side of one conversation: what the agent said last, and what it waits for.

Updates are the activity clock, an open permission request is a pending question, and a prompt in
flight is an open turn. We offer the agent no files and no terminals.

Source: DESIGN §8 (CAP-22, CAP-26, R13, R79)
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from gascity.model.world import Pending, ScreenVerdict
from gascity.runtimes.base import NoSuchAnswer
from gascity.runtimes.plain import last_lines

LINES_MOST: Final = 1000
LINE_MOST: Final = 4000
ASKED_MOST: Final = 64  # open questions of one agent; more are declined
_TEXT_MOST: Final = 500


@dataclass(slots=True, kw_only=True)
class Asked:
    """One open permission request. `since` in unix seconds."""

    id: str
    question: str
    options: Sequence[PermissionOption]
    answer: asyncio.Future[PermissionOption | None]
    since: float


class Conversation:
    """What the library calls when the agent speaks; `active` is unix seconds."""

    def __init__(self) -> None:
        self.active = time.time()
        self.asked: dict[str, Asked] = {}
        self.turn: asyncio.Task[None] | None = None
        self._lines: deque[str] = deque([""], maxlen=LINES_MOST)
        self._numbers = itertools.count(1)

    # --- what the agent does

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Something happened in its turn."""
        self.active = time.time()
        kind = getattr(update, "session_update", "")
        text = getattr(getattr(update, "content", None), "text", None)
        if kind == "agent_message_chunk" and isinstance(text, str):
            self._say(text)
        elif kind == "user_message_chunk" and isinstance(text, str):
            self._say(f"\n❯ {text}\n")
        elif kind == "tool_call":
            self._say(f"\n● {getattr(update, 'title', '')}\n")

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        """Hold the question open until somebody answers it."""
        self.active = time.time()
        chosen = None
        if len(self.asked) < ASKED_MOST:
            one = Asked(
                id=f"p{next(self._numbers)}",
                question=str(tool_call.title or tool_call.kind or "a tool call")[:_TEXT_MOST],
                options=options,
                answer=asyncio.get_running_loop().create_future(),
                since=self.active,
            )
            self.asked[one.id] = one
            try:
                chosen = await one.answer
            finally:
                self.asked.pop(one.id, None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        outcome = AllowedOutcome(option_id=chosen.option_id, outcome="selected")
        return RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None:
        """The library wants to be asked nothing here."""

    def _say(self, text: str) -> None:
        first, *rest = text.split("\n")
        self._lines[-1] = (self._lines[-1] + first)[:LINE_MOST]
        self._lines.extend(line[:LINE_MOST] for line in rest[-LINES_MOST:])

    # --- what is seen of it

    @property
    def verdict(self) -> ScreenVerdict:
        """Exactly what the protocol says: asked, in a turn, or neither."""
        if self.asked:
            return ScreenVerdict.PENDING
        return ScreenVerdict.BUSY if self.is_in_turn else ScreenVerdict.IDLE

    @property
    def is_in_turn(self) -> bool:
        """A prompt is in flight."""
        return self.turn is not None and not self.turn.done()

    @property
    def pending(self) -> Pending | None:
        """The question that has been open for longest."""
        oldest = next(iter(self.asked.values()), None)
        if oldest is None:
            return None
        return Pending(
            kind="permission",
            question=oldest.question,
            since=datetime.fromtimestamp(oldest.since, UTC),
            request=oldest.id,
            options=tuple(option.name for option in oldest.options),
        )

    def shown(self, lines: int) -> str:
        """The last lines it said, then how it stands."""
        marks = {ScreenVerdict.IDLE: "❯", ScreenVerdict.BUSY: "… in a turn"}
        status = marks.get(self.verdict, "")
        if (asked := self.pending) is not None:
            options = " ".join(f"{n}. {name}" for n, name in enumerate(asked.options, 1))
            status = f"? {asked.question}: {options}"
        return last_lines("\n".join([*self._lines, status]), lines)

    # --- what is done to it

    def begin(self, text: str, turn: asyncio.Task[None]) -> None:
        """A prompt went out; `turn` ends with it."""
        self._say(f"\n❯ {text}\n")
        self.turn = turn

    def end(self, problem: str) -> None:
        """The turn is over; `problem` "" means in good order."""
        self.active = time.time()
        self._say(f"\n✗ {problem}\n" if problem else "\n")

    def decline(self) -> None:
        """Every open question is answered as cancelled: nobody waits for an answer any more."""
        for one in self.asked.values():
            if not one.answer.done():
                one.answer.set_result(None)

    def respond(self, answer: str, request: str) -> str:
        """Answer the oldest question, or that one; the name of the chosen option.

        Raises:
            NoSuchAnswer: there is no such question or option.
        """
        open_now = {key: one for key, one in self.asked.items() if not one.answer.done()}
        one = open_now.get(request) if request else next(iter(open_now.values()), None)
        if one is None:
            raise NoSuchAnswer("that question is not open" if request else "nothing is asked")
        chosen = _option(answer, one.options)
        if chosen is None:
            names = ", ".join(f"{n} ({one.name})" for n, one in enumerate(one.options, 1))
            raise NoSuchAnswer(f"{answer!r} is no answer to {one.question!r}; there are {names}")
        one.answer.set_result(chosen)
        return chosen.name


def _option(answer: str, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """By number, id or name; else `allow`, `deny` and their kin mean the first of that kind."""
    said = answer.strip().casefold()
    if said.isascii() and said.isdigit() and 1 <= int(said[:4]) <= len(options):
        return options[int(said[:4]) - 1]
    for option in options:
        if said in (option.option_id.casefold(), option.name.casefold()):
            return option
    kinds = {
        "allow": "allow_once", "yes": "allow_once", "approve": "allow_once",
        "always": "allow_always", "deny": "reject_once", "no": "reject_once",
        "reject": "reject_once", "never": "reject_always",
    }  # fmt: skip
    wanted = kinds.get(said, said.replace("-", "_"))
    return next((option for option in options if option.kind == wanted), None)
