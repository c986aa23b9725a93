"""The city around a tool server that runs inside one of its sessions.

Turns are announced to the controller by one thread, so that they stand whatever the event loop of
the server is busy with; waits are kept by the controller, or in the store when there is none.

Source: DESIGN §14 (R48, R49, R63, R71)
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import anyio.to_thread

from gascity.api.announce import KEEP_S, Announcement
from gascity.cli import offline
from gascity.cli.ask import ask
from gascity.cli.failure import Failure, NoController
from gascity.tools.surroundings import WaitRecorded, WaitRefused, WaitRequest


def of_session(environ: Mapping[str, str]) -> SessionSurroundings | None:
    """The surroundings of a process with this environment; None when it is inside no session."""
    city = environ.get("GC_CITY", "")
    session = environ.get("GC_SESSION_ID") or environ.get("GC_SESSION_NAME", "")
    if not city or not session:
        return None
    return SessionSurroundings(
        city,
        session=session,
        token=environ.get("GC_INSTANCE_TOKEN", ""),
        by=environ.get("GC_SESSION_NAME") or session,
    )


class SessionSurroundings:
    """One run of one session, seen from inside. Implements `tools.Surroundings`."""

    def __init__(self, city: str, *, session: str, token: str, by: str) -> None:
        self._city = city
        self._by = by
        self._session = session
        self._token = token
        self._keeper = Keeper()

    @asynccontextmanager
    async def open_turn(self, what: str) -> AsyncIterator[None]:
        """Announced from here to the end of the block, to whichever controller runs meanwhile."""
        if not self._token:  # whose turn it is could not be told
            yield
            return
        said = {"session": self._session, "token": self._token, "what": what}
        announcement = Announcement(self._city, **said)
        self._keeper.begin(announcement)
        try:
            yield
        finally:
            self._keeper.end(announcement)

    async def record_wait(self, request: WaitRequest) -> WaitRecorded:
        """Kept by the controller, or in the store when none runs. Raises `WaitRefused`."""
        fields: dict[str, Any] = {"note": request.note, "elapsed": True, "by": self._by}
        if request.until is not None:
            fields["until"] = request.until.isoformat()
        else:
            fields["for_s"] = float(request.for_s or 0)
        try:
            made = await anyio.to_thread.run_sync(self._add, fields)
        except Failure as failure:
            raise WaitRefused(failure.what, failure.do or "see `gc doctor`") from None
        return WaitRecorded(id=made["id"], due_at=datetime.fromisoformat(made["due_at"]))

    def _add(self, fields: dict[str, Any]) -> dict[str, Any]:
        fields = {"session": self._session, **fields}
        try:
            reply = ask(self._city, "wait_add", **fields)
        except NoController:
            reply = offline.answer(self._city, "wait_add", fields)
        wait: dict[str, Any] = reply["wait"]
        return wait


class Keeper:
    """Keeps announcements; its thread lives as long as there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Announcement] = []
        self._ended: threading.Event | None = None  # of the thread there is

    def begin(self, announcement: Announcement) -> None:
        """Announce it, at once where a controller listens."""
        with self._lock:
            announcement.keep()
            self._kept.append(announcement)
            if self._ended is None:
                self._ended = threading.Event()
                threading.Thread(
                    target=self._keep, args=(self._ended,), name="open turns", daemon=True
                ).start()

    def end(self, announcement: Announcement) -> None:
        """The turn is over."""
        with self._lock:
            self._kept.remove(announcement)
            announcement.close()
            if not self._kept and self._ended is not None:
                self._ended.set()
                self._ended = None

    def _keep(self, ended: threading.Event) -> None:
        while not ended.wait(KEEP_S):
            with self._lock:
                for one in self._kept:
                    one.keep()
