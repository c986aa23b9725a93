"""Reading a session's screen for people, and typing into exactly one run of it.

Every command that types or ends something is one `if-shell` that compares the token inside tmux: a
command that a hung server executes late finds another token, or none, and does nothing.

Source: DESIGN §8 (R13, R44, R45, R63)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import anyio

from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.tmux.client import nonce, quoted
from gascity.runtimes.tmux.format import Hosted
from gascity.runtimes.tmux.host import TmuxHost
from gascity.runtimes.tmux.look import Memory

_BEFORE_ENTER_S: Final = 0.25  # programs take an Enter that comes with a paste as part of it
_ECHO_S: Final = 1.0
_UNTYPED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Keyboard:
    """Types into and reads from sessions that carry this city's mark."""

    def __init__(
        self, host: TmuxHost, memory: Memory, *, mark: str, wall: Callable[[], float]
    ) -> None:
        self._host = host
        self._memory = memory
        self._mark = mark
        self._wall = wall

    async def _find(self, name: str, token: str) -> Hosted:
        hosted = (await self._host.look()).sessions.get(name)
        if hosted is None or hosted.mark != self._mark or hosted.token != token:
            raise RuntimeUnreachable(f"{name} does not run with that token")
        return hosted

    async def fenced(self, hosted: Hosted, *commands: str) -> None:
        """Run commands of tmux if the session still is that very run; otherwise nothing."""
        same = f"#{{&&:#{{==:#{{@gc_mark}},{hosted.mark}}},#{{==:#{{@gc_token}},{hosted.token}}}}}"
        todo = " ; ".join(commands)
        reply = await self._host.client.script(
            f"if-shell -F -t ={hosted.name}: {quoted(same)} {{ {todo} }}"
        )
        if reply.is_cut_off:  # the session was its last
            await self._host.look()
            return
        is_gone = reply.is_no_server or "can't find" in reply.err
        if reply.code != 0 and not is_gone:
            raise RuntimeUnreachable(f"tmux failed: {reply.err.strip() or reply.code}")

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Paste the text, wait a moment, press Enter."""
        hosted = await self._find(name, token)
        pane = hosted.agent.id
        buffer = f"gc-{nonce()}"
        words = quoted(_UNTYPED.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
        leave_mode = (
            f"if-shell -F -t {pane} '#{{pane_in_mode}}' {{ send-keys -t {pane} -X cancel }}"
        )
        paste = (f"set-buffer -b {buffer} -- {words}", f"paste-buffer -d -p -b {buffer} -t {pane}")
        if text:
            await self.fenced(hosted, leave_mode, *paste)
            await anyio.sleep(_BEFORE_ENTER_S)
        await self.fenced(hosted, f"send-keys -t {pane} Enter")
        self._memory.typed_until[hosted.key] = self._wall() + _ECHO_S

    async def interrupt(self, name: str, *, token: str) -> None:
        """Press Ctrl-C."""
        hosted = await self._find(name, token)
        pane = hosted.agent.id
        leave_mode = (
            f"if-shell -F -t {pane} '#{{pane_in_mode}}' {{ send-keys -t {pane} -X cancel }}"
        )
        await self.fenced(hosted, leave_mode, f"send-keys -t {pane} C-c")
        self._memory.typed_until[hosted.key] = self._wall() + _ECHO_S

    async def peek(self, name: str, *, lines: int) -> str:
        """The last `lines` lines with anything on them, as plain text."""
        hosted = (await self._host.look()).sessions.get(name)
        if hosted is None or hosted.mark != self._mark:
            return ""
        reply = await self._host.client.call(
            "capture-pane", "-p", "-S", f"-{max(lines, 0)}", "-t", hosted.agent.id
        )
        text = [_UNTYPED.sub("", line).rstrip() for line in reply.out.split("\n")]
        while text and not text[-1]:
            text.pop()
        return "\n".join(text[-lines:]) if lines > 0 else ""
