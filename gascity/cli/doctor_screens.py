"""`gc doctor screens`: what the detectors make of captured screens, of the corpus, of a session.

Source: DESIGN §8 (R15, R44); surface "Command line"
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gascity.cli.failure import DONE, FAILED, USAGE, Failure
from gascity.cli.output import print_json, print_table
from gascity.report.table import safe

if TYPE_CHECKING:
    from gascity.model.screens import ScreenRules
    from gascity.runtimes.screens import Judgement

_ALIASES: Final = {
    "claude-code": "claude",
    "codex-cli": "codex",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
    "github-copilot": "copilot",
    **dict.fromkeys(("bash", "zsh", "fish", "sh", "dash"), "shell"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc doctor screens`."""
    parser.add_argument("--json", action="store_true", help="the verdicts as objects")
    parser.add_argument("files", nargs="*", metavar="FILE", help="captured screens; - is stdin")
    parser.add_argument("--cli", metavar="NAME", help="whose screens they are: claude, codex, …")
    parser.add_argument("--prompt", default="", metavar="P", help="what its prompt begins with")
    parser.add_argument("--session", metavar="S", help="what a running session shows now")


def run(args: argparse.Namespace) -> int:
    """The corpus without arguments; else the given files, or a session."""
    if args.session:
        return _session(args)
    return _files(args) if args.files else _corpus(args)


def _corpus(args: argparse.Namespace) -> int:
    """Run every screen that ships; 1 when one is judged otherwise than it must be."""
    from gascity.runtimes.screens.examples import corpus

    name = _ALIASES.get(args.cli, args.cli)
    rows, wrong = [], 0
    for example in corpus():
        if name and example.detector != name:
            continue
        found = example.judged()
        is_met = example.is_met(found)
        wrong += not is_met
        rows.append({**_row(example.name, found), "expected": str(example.verdict), "ok": is_met})
    if not rows:
        raise _unknown(args.cli)
    if args.json:
        print_json(rows)
        return FAILED if wrong else DONE
    for row in rows:
        if not row["ok"]:
            print(f"{row['file']}: {row['verdict']} by {row['rule']}, not {row['expected']}")
    print(f"{len(rows)} screens, {wrong or 'none'} judged wrong")
    return FAILED if wrong else DONE


def _files(args: argparse.Namespace) -> int:
    own = _own(args)
    rows = [_row(name, _judged(name, args, own)) for name in args.files]
    if args.json:
        print_json(rows)
    else:
        print_table(
            ["FILE", "VERDICT", "RULE"],
            [[safe(row["file"]), row["verdict"], row["rule"]] for row in rows],
        )
    return DONE


def _judged(name: str, args: argparse.Namespace, own: ScreenRules | None) -> Judgement:
    from gascity.runtimes.screens import judge, judge_any
    from gascity.runtimes.screens.examples import is_example, read_example
    from gascity.runtimes.screens.text import read_screen

    text = _text(name)
    if is_example(text):
        try:
            example = read_example(name, text)
        except (ValueError, KeyError) as problem:
            raise Failure(f"{name}: {problem}", "see docs/reference/screens.md") from None
        screen, prefix, known = example.screen, example.prefix, example.detector
    else:
        screen, prefix, known = read_screen(text), "", ""
    detector = _ALIASES.get(args.cli, args.cli) if args.cli else known
    if not detector:
        return judge_any(screen, prefix=args.prompt)
    return judge(screen, detector=detector, prefix=args.prompt or prefix, own=own)


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        do = "name captured screens: tmux capture-pane -ep > FILE"
        raise Failure(f"cannot read {name}: {problem.strerror}", do, exit=USAGE) from None


def _own(args: argparse.Namespace) -> ScreenRules | None:
    """The rules of the city's file for `--cli`; none where there is no city, or nothing in it.

    Raises:
        Failure: nobody has rules of that name.
    """
    from gascity.api.client import ControlError, find_city
    from gascity.config.load import load_city
    from gascity.model.screens import BASES

    if not args.cli:
        return None
    name = _ALIASES.get(args.cli, args.cli)
    try:
        city = load_city(Path(find_city(args.city))).city
    except ControlError:
        city = None
    own = city.screens.get(name) if city is not None else None
    if own is None and name not in BASES:
        raise _unknown(args.cli)
    return own


def _unknown(name: str) -> Failure:
    from gascity.model.screens import BASES

    do = f"there are rules for {', '.join(BASES)}; more are written as [screens.NAME]"
    return Failure(f"no rules for the screens of {name!r}", do, exit=USAGE)


def _session(args: argparse.Namespace) -> int:
    """What the controller sees a session show, by which rule."""
    from gascity.cli.ask import ask
    from gascity.cli.place import find_city

    reply = ask(find_city(args), "screen", session=args.session)
    row = {key: reply.get(key) for key in ("session", "verdict", "rule", "kind", "question")}
    if args.json:
        print_json(row)
        return DONE
    print(f"{safe(str(row['session']))}: {row['verdict']} by {row['rule'] or 'no rule'}")
    if row["question"]:
        print(f"    asks: {safe(str(row['question']))}")
    return DONE


def _row(name: str, found: Judgement) -> dict[str, Any]:
    return {"file": name, "verdict": str(found.verdict), "rule": found.rule}
