"""`gc`: finds the command in one table, imports its module and nothing else, prints its failure.

A command module has `configure(command, parser)`, which adds its arguments, and `run(args)`, which
returns the exit code. `args` also carries `command`, `city` and `no_color`.

Source: surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import Any, Final, NoReturn

from gascity.cli.failure import DONE, INTERRUPTED, USAGE, Failure

# name -> (module in gascity.cli, what `gc --help` says)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "init": ("setup", "make a city in a folder: a commented city.toml and .gc/"),
    "start": ("controller", "start the controller and return once it is ready"),
    "stop": ("controller", "stop the sessions gracefully, then the controller"),
    "status": ("status", "one line a session: state, sleep policy, what keeps it awake"),
    "why": ("why", "explain one session: verdict, rule, signals, policy, what would change it"),
    "attach": ("attach", "open a session in this terminal, waking it first when it sleeps"),
    "wake": ("wake", "wake a session and say how that ended"),
    "sleep": ("wake", "put an idle session to sleep now, through the safe path"),
    "pin": ("hold", "keep a session awake for a time"),
    "unpin": ("hold", "take the pin off a session"),
    "busy": ("busy", "run a command and keep its session awake meanwhile"),
    "wait": ("wait", "durable waits: add, list, ready, cancel"),
    "suspend": ("hold", "hold sessions down until they are resumed"),
    "resume": ("hold", "lift the hold of `gc suspend`"),
    "session": ("session", "list, peek, nudge, respond, messages, unsend, kill"),
    "sling": ("work", "create work for an agent or a session"),
    "bead": ("work", "list, show, claim, close, update"),
    "hook": ("work", "inside a session: print its next workable bead"),
    "agent-event": ("agent_event", "inside a session: what an agent's hook tells; silent, exit 0"),
    "hooks": ("hooks", "make an agent CLI's hooks tell the controller: print, install, remove"),
    "events": ("events", "the event log"),
    "config": ("config", "validate, show, explain"),
    "doctor": ("doctor", "what is wrong with this city and how to fix it"),
    "mcp": ("mcp", "serve the sleep tool to agents over MCP: stdio, or HTTP on loopback"),
    "replay": ("replay", "decide recorded ticks again, and show what differs"),
    "completion": ("completion", "print the completion script of a shell"),
}

# Commands that people, agents and shells call all day: they load no framework.
HOT: Final = frozenset(
    {
        "--help",
        "status",
        "wake",
        "attach",
        "hook",
        "agent-event",
        "sleep",
        "pin",
        "unpin",
        "sling",
        "bead",
        "busy",
        "wait",
        "completion",
    }
)

USAGE_TEXT: Final = "usage: gc [--city PATH] [--no-color] [--version] COMMAND ..."


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors end the command like any other failure, with exit 2."""

    def error(self, message: str) -> NoReturn:
        raise Failure(message, f"see `{self.prog} --help`", exit=USAGE)


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code of surface "Command line".

    `argv` are the words after `gc`; None takes the process's own.
    """
    words = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    command = [""]
    try:
        if "_ARGCOMPLETE" in os.environ:
            from gascity.cli.completion import complete

            return complete()
        code = _run(words, command)
        sys.stdout.flush()
    except Failure as failure:
        _say(command[0], str(failure))
        return failure.exit
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as left:  # argparse after --help
        return left.code if isinstance(left.code, int) else DONE
    return code


def _run(words: list[str], command: list[str]) -> int:
    options, rest = global_options(words)
    if options["version"]:
        from gascity import __version__

        print(f"gc {__version__}")
        return DONE
    if options["help"] or not rest:
        print(overview())
        return DONE if options["help"] else USAGE
    name, *arguments = rest
    if name not in COMMANDS:
        raise Failure(f"unknown command {name!r}", _nearest(name), exit=USAGE)
    command[0] = name
    module, parser = parser_of(name)
    args = parser.parse_args(arguments)
    args.command = command[0] = f"{name} {args.action}" if hasattr(args, "action") else name
    args.city = getattr(args, "city", None) or options["city"]
    args.no_color = getattr(args, "no_color", False) or options["no_color"]
    code: int = module.run(args)
    return code


def global_options(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options before the command, and the command with all that follows it."""
    options: dict[str, Any] = {"city": None, "no_color": False, "version": False, "help": False}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        name, given, value = word.partition("=")
        if name == "--city":
            if not given and not rest:
                raise Failure("--city needs a path", "see `gc --help`", exit=USAGE)
            options["city"] = value if given else rest.pop(0)
        elif word in {"--no-color", "--version"}:
            options[word[2:].replace("-", "_")] = True
        elif word in {"-h", "--help"}:
            options["help"] = True
        else:
            raise Failure(f"unknown option {word}", "see `gc --help`", exit=USAGE)
    return options, rest


def parser_of(
    name: str, parser: argparse.ArgumentParser | None = None
) -> tuple[Any, argparse.ArgumentParser]:
    """The module of a command, and the parser it configured: a new one, or the one given."""
    module_name, summary = COMMANDS[name]
    module = import_module(f"gascity.cli.{module_name}")
    if parser is None:
        parser = Parser(prog=f"gc {name}", description=summary[0].upper() + summary[1:] + ".")
    module.configure(name, parser)
    add_globals(parser)
    return module, parser


def add_globals(parser: argparse.ArgumentParser) -> None:
    """The global options are understood after the command, and after its subcommand, too."""
    parser.add_argument(
        "--city",
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="the city's folder (else $GC_CITY, else here)",
    )
    parser.add_argument(
        "--no-color",
        action="store_true",
        default=argparse.SUPPRESS,
        help="no colours (also NO_COLOR)",
    )
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                add_globals(below)


def overview() -> str:
    """What `gc --help` prints; made from the table alone."""
    width = max(map(len, COMMANDS)) + 2
    rows = [f"  {name:<{width}}{summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            USAGE_TEXT,
            "",
            "Keeps agent sessions awake for exactly as long as somebody needs them.",
            "",
            *rows,
            "",
            "`gc COMMAND --help` says more. The city is --city, else $GC_CITY, else the nearest",
            "parent folder with a city.toml.",
        ]
    )


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
    if not near:
        return "see `gc --help`"
    return "did you mean " + " or ".join(f"`gc {one}`" for one in near) + "?"


def _say(command: str, text: str) -> None:
    from gascity.report.table import safe

    prefix = f"gc {command}" if command else "gc"
    lines = [safe(line) for line in text.splitlines()] or [""]
    try:
        print(f"{prefix}: " + "\n".join(lines), file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
