"""Writes `docs/reference/cli.md` from the parsers: `python -m gascity.cli.manual FILE`.

The words come from the parsers and not from argparse's own help, whose layout changes between
versions of Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gascity.cli.main import COMMANDS, HOT, USAGE_TEXT, parser_of

HEAD: Final = f"""\
# The command line

Made from the parsers by `python -m gascity.cli.manual docs/reference/cli.md`.

`gc` and `gascity` are the same command; `python -m gascity` works too.

    {USAGE_TEXT.removeprefix("usage: ")}

Everywhere, before or after the command: `--city PATH` (else `$GC_CITY`, else the nearest parent
folder with `city.toml`), `--no-color` (and `NO_COLOR`). `SESSION` is a session name, a session id,
or the name of an agent that has one session. `D` is a length of time such as `90s` or `1h30m`.
Times in text are local with their offset, times in JSON are UTC. How commands end:
[exit codes](exit-codes.md).
"""
GLOBAL: Final = frozenset({"city", "no_color", "help"})


def manual() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for name, (_, summary) in COMMANDS.items():
        _, parser = parser_of(name)
        head = [f"## gc {name}", "", f"{summary[0].upper()}{summary[1:]}.", ""]
        parts.append("\n".join([*head, *_command(parser)]))
    hot = ", ".join(f"`{name}`" for name in sorted(HOT))
    parts.append(f"## Quick ones\n\nThese load no framework and answer in milliseconds: {hot}.\n")
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield f"    {synopsis(parser)}"
        yield from _arguments(parser)
        return
    if not all(actions.required for actions in below):
        yield f"    {synopsis(parser)}"
        yield from _arguments(parser)
        yield ""
    for actions in below:
        if not actions.required:  # it does something by itself, too
            yield f"    {synopsis(parser)}"
            yield from _arguments(parser)
            yield ""
        helps = {one.dest: one.help for one in actions._choices_actions}
        for name, sub in actions.choices.items():
            yield f"    {synopsis(sub)}"
            yield ""
            yield f"{helps[name]}"
            yield from _arguments(sub)
            yield ""


def synopsis(parser: argparse.ArgumentParser) -> str:
    """The command on one line, as people type it."""
    words = [parser.prog]
    for action in _own(parser):
        if action.option_strings:
            word = action.option_strings[-1]
            words.append(f"[{word} {_value(action)}]" if _takes_value(action) else f"[{word}]")
        else:
            name = _value(action)
            shapes = {"?": f"[{name}]", "*": f"[{name}...]", "+": f"{name}..."}
            words.append(shapes.get(str(action.nargs), name))
    return " ".join(words)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = [
        f"- `{(one.option_strings or [_value(one)])[-1]}`: {one.help}"
        for one in _own(parser)
        if one.help
    ]
    if rows:
        yield ""
        yield from rows


def _own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        one
        for one in parser._actions
        if one.dest not in GLOBAL and not isinstance(one, argparse._SubParsersAction)
    ]


def _takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def _value(action: argparse.Action) -> str:
    if action.choices:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(manual(), encoding="utf-8")
