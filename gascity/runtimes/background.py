"""Telling an agent's helpers from its work, and the agent from whatever took its terminal.

A helper lives as long as the agent: it came up with it, or it is a tool server by its command line.
Every other process below the agent, or away from it with its token, is work: what cannot be told
apart is not idle.

Source: DESIGN §8 (R15; CAP-31)
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from gascity.runtimes import processes
from gascity.runtimes.processes import Process

HELPER_S: Final = 3.0
_SERVER_WORD: Final = re.compile(r"(^|[-_.@])mcp[-_.]?server|server[-_]mcp|^mcp-|-mcp$", re.I)
_HELPER_NAMES: Final = frozenset({"ssh-agent", "gpg-agent", "dbus-daemon", "dbus-launch"})
_OURS: Final = frozenset({"gc", "gascity"})


def foreground_of(agent: Process, names: Collection[str], known: Mapping[int, Process]) -> str:
    """The name of a foreign program that has the agent's terminal; "" when the agent has it."""
    group = agent.tty_group
    if group in {agent.group, -1, 0}:
        return ""
    members = [one for one in known.values() if one.group == group and not one.is_over]
    if any(one.name in names for one in members):
        return ""
    leader = known.get(group)
    return leader.name if leader else members[0].name if members else "unknown"


def background_of(
    agent: Process,
    *,
    names: Collection[str],
    token: str,
    known: Mapping[int, Process],
    others: Collection[int],
    helper_s: float,
) -> str:
    """The name and pid of a process that does the session's work; "" when there is none.

    `others` are the roots of further panes, judged elsewhere; what started within `helper_s`
    seconds of the agent is its helper.
    """
    root = _agent_below(agent, names, known)
    chain = set(processes.ancestors(root.pid, known))
    elsewhere = processes.descendants(others, known).keys()
    spared = {*elsewhere, *processes.ancestors(os.getpid(), known)}
    below = processes.descendants([agent.pid], known)
    carrying = {
        pid: known[pid] for pid in processes.carriers("GC_INSTANCE_TOKEN", token) & known.keys()
    }
    limit = root.started + helper_s * processes.ticks_per_second()
    for one in sorted({**carrying, **below}.values(), key=lambda one: one.started):
        if one.pid in chain or one.pid in spared or one.is_over:
            continue
        if (helper_s and one.started <= limit) or _serves(one, known, chain):
            continue
        return f"{one.name} {one.pid}"
    return ""


def _agent_below(top: Process, names: Collection[str], known: Mapping[int, Process]) -> Process:
    """The agent's own process: the nearest one below the pane that has one of its names."""
    if not names or top.name in names:
        return top
    below = processes.descendants([top.pid], known).values()
    fitting = [one for one in below if one.name in names and not one.is_over]
    return min(fitting, key=lambda one: one.started, default=top)


def _serves(one: Process, known: Mapping[int, Process], chain: Collection[int]) -> bool:
    """A tool server by its command line, or something below one."""
    for pid in processes.ancestors(one.pid, known):
        if pid in chain:
            return False
        if _is_server(known[pid]):
            return True
    return False


def _is_server(one: Process) -> bool:
    if one.name in _HELPER_NAMES:
        return True
    heads = [PurePath(word).name for word in processes.words(one.pid)[:3]]
    if any(a in _OURS and b == "mcp" for a, b in pairwise(heads)):
        return True
    words = processes.words(one.pid)[:3]
    return any("@modelcontextprotocol/" in word for word in words) or any(
        _SERVER_WORD.search(head) for head in heads[:2]
    )
