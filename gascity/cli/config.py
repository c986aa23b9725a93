"""`gc config validate|show|explain`: the configuration without running any of it.

Source: DESIGN §2, §W (CFG-14, POL-02, R5, R6a); surface "Command line"
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gascity.cli.failure import DONE, USAGE, Failure
from gascity.cli.output import note, print_json
from gascity.cli.place import find_city
from gascity.config.effective import effective_settings
from gascity.config.explain import explain
from gascity.config.load import load_city
from gascity.config.problems import LoadResult, Problems, Severity
from gascity.config.write import effective_toml
from gascity.model.city import City
from gascity.report.table import columns, safe


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the three subcommands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    validate = actions.add_parser("validate", help="every problem at once; runs nothing")
    show = actions.add_parser("show", help="what is in force, after packs, overrides and patches")
    show.add_argument("--secrets", action="store_true", help="with values of env that look secret")
    chain = actions.add_parser("explain", help="where an agent's sleep window comes from")
    chain.add_argument("agent", metavar="AGENT", help="its name, or [rig/][binding.]name")
    chain.add_argument("--values", action="store_true", help="every value, and where it stands")
    validate.add_argument("--strict", action="store_true", help="a missing pack is an error too")
    outlook = actions.add_parser("plan", help="who would sleep, who never and why, what to write")
    for one in (validate, show, chain, outlook):
        one.add_argument("--json", action="store_true", help="the answer as an object")
        one.add_argument(
            "--pack-map", metavar="FILE", help="folders that stand for sources of packs"
        )


def run(args: argparse.Namespace) -> int:
    """Read the configuration and answer."""
    loaded = load_city(Path(find_city(args)), pack_map=_map(args.pack_map))
    if args.action == "validate":
        return _validate(args, loaded)
    city = loaded.city
    if city is None:
        _print_problems(loaded)
        raise Failure(_count(loaded), "see `gc config validate`", exit=USAGE)
    if args.action == "plan":
        return _plan(args, city)
    return _show(args, city) if args.action == "show" else _explain(args, city)


def _map(name: str | None) -> Path | None:
    """The map of packs that was asked for, which then has to be there."""
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        raise Failure(
            f"no file {name}", "name a pack map: [[map]] with sources and dir", exit=USAGE
        )
    return path.absolute()


def _validate(args: argparse.Namespace, loaded: LoadResult) -> int:
    city = loaded.city
    is_lacking = args.strict and city is not None and city.incomplete
    if args.json:
        problems = [problem.as_dict() for problem in loaded.problems]
        incomplete = city is not None and city.incomplete
        ok = city is not None and not is_lacking
        passed = [{"table": table, "key": key, "count": count}
                  for table, key, count in loaded.passed_over]  # fmt: skip
        print_json({"schema": 1, "ok": ok, "incomplete": incomplete, "problems": problems,
                    "not_read": passed})  # fmt: skip
        return DONE if ok else USAGE
    _print_problems(loaded)
    if city is None:
        raise Failure(_count(loaded), "mend what they name", exit=USAGE)
    if is_lacking:
        raise Failure("the city is incomplete", "bring the packs that are named here", exit=USAGE)
    print(f"{safe(city.name)}: {len(city.agents)} agents, {_count(loaded)}")
    for line in _passed_over(loaded):
        print(safe(line))
    return DONE


def _passed_over(loaded: LoadResult) -> Iterator[str]:
    """What other tools read in these files and this one does not, by the table it stands in."""
    by_table: dict[str, list[str]] = {}
    for table, key, count in loaded.passed_over:
        by_table.setdefault(table, []).append(f"{key} ({count})" if count > 1 else key)
    if by_table:
        yield "kept for other tools, not read here:"
    for table, keys in by_table.items():
        yield f"  {table or 'city.toml'}: {', '.join(keys)}"


def _plan(args: argparse.Namespace, city: City) -> int:
    from gascity.cli.config_plan import as_dict, as_lines, plan

    looks, found = plan(city)
    if args.json:
        print_json(as_dict(city, looks, found))
        return DONE
    for line in as_lines(city, looks, found):
        print("\n".join(safe(part) for part in line.split("\n")))
    if city.incomplete:
        note(args, "packs are missing, so this is not all; `gc config validate` names them")
    return DONE


def _print_problems(loaded: LoadResult) -> None:
    for problem in loaded.problems:
        word = "error" if problem.severity is Severity.ERROR else "warning"
        print(f"{word}: {safe(problem)}", file=sys.stderr)


def _count(loaded: LoadResult) -> str:
    if loaded.errors:
        count = len(loaded.errors)
        return f"{count} error{'s' if count != 1 else ''} in the configuration"
    count = len(loaded.warnings)
    return f"{count} warning{'s' if count != 1 else ''}" if count else "no problems"


def _show(args: argparse.Namespace, city: City) -> int:
    text = effective_toml(city, hide_secrets=not args.secrets)
    if args.json:
        print_json(tomllib.loads(text))
    else:
        print(visible(text), end="")
    return DONE


def visible(toml: str) -> str:
    """The same TOML without a character that moves a cursor or hides: they stand in texts (E11)."""
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in toml)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _explain(args: argparse.Namespace, city: City) -> int:
    identity = _identity(city, args.agent)
    found = explain(city, identity)
    assert found is not None, "the identity is one of the city's"
    values = effective_settings(city, identity) if args.values else []
    if args.json:
        more = {"values": [asdict(one) for one in values]} if args.values else {}
        print_json({"schema": 1, **found.as_dict(), **more})
        return DONE
    for line in [*found.lines(), *columns([["", *one.row()] for one in values])]:
        print(safe(line))
    return DONE


def _identity(city: City, word: str) -> str:
    """The one agent a word means; two rigs may have one of the same name (R6b)."""
    if word in city.agents:
        return word
    hits = [
        one.identity
        for one in city.agents.values()
        if word in (one.name, one.identity.rpartition("/")[2], f"{one.rig}/{one.name}")
    ]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise Failure(f"{word!r} means {', '.join(hits)}", "name one of them", exit=USAGE)
    raise Failure(f"no agent {word!r}", Problems().near_names(word, city.agents), exit=USAGE)
