"""`gc completion`: the script a shell loads, and the answers to its questions.

A question must be quick and never disturb the line being typed: the module of the typed command
alone is imported, the controller gets a blink to name its sessions, and every failure is silence.

Source: surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
from contextlib import suppress
from typing import Any, Final

from gascity.cli.failure import DONE, Failure

SHELLS: Final = ("bash", "zsh", "fish")
PATIENCE_S: Final = 0.3
HOW: Final = """  bash:  source <(gc completion bash)        in ~/.bashrc
  zsh:   source <(gc completion zsh)         in ~/.zshrc, after compinit
  fish:  gc completion fish | source         in ~/.config/fish/config.fish"""


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc completion`."""
    parser.add_argument("shell", choices=SHELLS, help="whose script")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"Load it:\n{HOW}"


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["gc", "gascity"], shell=args.shell))
    return DONE


def complete() -> int:
    """Answer the shell that asked by argcomplete's variables; never returns in practice."""
    import argcomplete

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with suppress(Exception):
        argcomplete.autocomplete(question_parser(os.environ.get("COMP_LINE", "")))
    return DONE


def question_parser(line: str) -> argparse.ArgumentParser:
    """A parser of all commands in which only the one on the line knows its arguments."""
    from gascity.cli.main import COMMANDS, add_globals, global_options, parser_of

    typed = ""
    with suppress(ValueError, Failure):
        options, rest = global_options(_words(line)[1:])
        typed = rest[0] if rest else ""
        if options["city"]:
            os.environ["GC_CITY"] = options["city"]
    parser = argparse.ArgumentParser(prog="gc")
    add_globals(parser)
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", parser_class=argparse.ArgumentParser)
    for name, (_, summary) in COMMANDS.items():
        added = commands.add_parser(name, help=summary)
        if name == typed:
            parser_of(name, added)
            _complete_values(added)
    return parser


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return line.split()


def _complete_values(parser: argparse.ArgumentParser) -> None:
    """Give every argument that names a session or a folder its completer, subcommands too."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_values(below)
        elif action.dest in {"session", "sessions", "target"}:
            action.completer = session_names  # type: ignore[attr-defined]


def session_names(prefix: str, parsed_args: Any = None, **_: Any) -> list[str]:
    """Session names that begin with the prefix; none when the controller does not say at once."""
    from gascity.api import client
    from gascity.cli.place import find_city

    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        city = find_city(argparse.Namespace(city=getattr(parsed_args, "city", None)))
        names = client.call(city, "sessions")["names"]
        return [str(name) for name in names if str(name).startswith(prefix)]
    except (Failure, client.ControlError, OSError, KeyError, TypeError):
        return []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(*_: object) -> None:
    raise Failure("the controller did not answer at once")
