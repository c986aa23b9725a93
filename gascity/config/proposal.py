"""The policy block to start with, for a city that has none: by class, as lines of TOML.

A class is proposed a window only where the file says nothing about it and somebody is of it. What
people attach to and what comes back sleeps after a minute; what would be forgotten stays warm; what
nobody attaches to sleeps at once where a safe moment shows, else after a while.

Source: DESIGN §2, §R (CFG-19..22, R4, R62)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import tomli
import tomli_w

from gascity.config.outline import outline
from gascity.model.city import City, SessionClass
from gascity.model.duration import OFF, Duration, KeepWarm, seconds

TABLE: Final = "session_sleep"
_WHY: Final = {
    SessionClass.INTERACTIVE_RESUME: "people attach, and the conversation comes back",
    SessionClass.INTERACTIVE_FRESH: "people attach, and each start is a new conversation",
    SessionClass.NONINTERACTIVE: "nobody attaches",
}


def proposed(
    city: City, present: Collection[SessionClass], *, is_safe: bool
) -> dict[SessionClass, KeepWarm]:
    """{class: window} for the classes that are present and that `[session_sleep]` is silent about.

    Args:
        is_safe: Whether every runtime of what nobody attaches to shows a safe moment to stop.
    """
    windows: dict[SessionClass, KeepWarm] = {
        SessionClass.INTERACTIVE_RESUME: seconds(60),
        SessionClass.INTERACTIVE_FRESH: OFF,
        SessionClass.NONINTERACTIVE: Duration(0, "0s") if is_safe else seconds(30),
    }
    return {
        kind: window
        for kind, window in windows.items()
        if kind in present and kind not in city.session_sleep
    }


def with_windows(city: City, windows: Mapping[SessionClass, KeepWarm]) -> City:
    """The city as it would be with these class defaults."""
    return replace(city, session_sleep={**city.session_sleep, **windows})


def block(windows: Mapping[SessionClass, KeepWarm]) -> str:
    """The table as TOML, each class with a word about whom it means."""
    lines = [f"[{TABLE}]"]
    for kind, window in windows.items():
        text = getattr(window, "text", "off")
        lines += [f"# {_WHY[kind]}", tomli_w.dumps({kind.value: text}).rstrip()]
    return "\n".join(lines) + "\n"


class CannotEdit(ValueError):
    """The text is written in a way that no line can be added to safely."""


def edited(text: str, windows: Mapping[SessionClass, KeepWarm]) -> str:
    """The text of a city with the windows added; every other line stays as it is.

    Raises:
        CannotEdit: the table is written inside another value.
    """
    text, mark = text.removeprefix("\ufeff"), "\ufeff" if text.startswith("\ufeff") else ""
    found = outline(text).get((TABLE,), 0)
    ending = "\r\n" if "\r\n" in text else "\n"
    new = block(windows)
    lines = text.split("\n")
    if not found:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        result = text + (gap + new).replace("\n", ending)
    elif lines[found - 1].strip().startswith(f"[{TABLE}]"):
        lines[found:found] = [line + ending[:-1] for line in new.rstrip().split("\n")[1:]]
        result = "\n".join(lines)
    else:
        raise CannotEdit(f"line {found} holds the whole of {TABLE}; add the keys by hand")
    _check(text, result, windows)
    return mark + result


def _check(before: str, after: str, windows: Mapping[SessionClass, KeepWarm]) -> None:
    """Whether the text says what it said, and the windows besides."""
    try:
        old, new = tomli.loads(before), tomli.loads(after)
    except tomli.TOMLDecodeError as fault:
        raise CannotEdit(f"the result would be no TOML: {fault}") from None
    wanted = dict(old.get(TABLE, {}))
    wanted |= {kind.value: getattr(window, "text", "off") for kind, window in windows.items()}
    if new != {**old, TABLE: wanted}:
        raise CannotEdit("the result would say something else")


def diff(name: str, before: str, after: str) -> str:
    """What changes, as a unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        name,
        f"{name} (proposed)",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
