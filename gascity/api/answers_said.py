"""Rows of the control socket about what sessions show and say: peek, screen, turns, signals.

Source: DESIGN §8, §13 "The control socket" (R15, R44, R48)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gascity.act import requests_signal, requests_talk, requests_turn
from gascity.act.operate import Desk, Reply, Say
from gascity.api.frames import picked

Fields = Mapping[str, Any]


async def _peek(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_talk.peek(desk, fields["session"], **picked(fields, "lines"))


async def _turn(desk: Desk, fields: Fields, say: Say) -> Reply:
    told = requests_turn.Announced(**picked(fields, "token", "what", "owner"))
    return await requests_turn.turn(desk, fields["session"], told, say=say)


async def _signal(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_signal.signal(desk, fields["session"], fields)


async def _screen(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_talk.screen(desk, fields["session"])


SAID: Final = {"peek": _peek, "screen": _screen, "turn": _turn, "signal": _signal}
