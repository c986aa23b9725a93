"""What the stand-in agent can be told, and the questions it knows how to ask.

Each option has an environment variable `STANDIN_…` as its default, so that a city can set it.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

RULE: Final = "─" * 60
DIALOGS: Final = {
    "permission": (
        " Bash command\n\n   npm run release\n\n Do you want to proceed?",
        ("Yes", "Yes, and don't ask again for: npm run *", "No"),
        " Esc to cancel · Tab to amend",
    ),
    "plan": (
        " Ready to code?\n\n Here is the plan:\n   one change\n\n Would you like to proceed?",
        ("Yes, auto-accept edits", "Yes, manually approve edits", "No, keep planning"),
        " ctrl-g to edit in Vim",
    ),
    "choice": (
        " ☐ Colour\n\n Which colour should the button have?",
        ("Green", "Blue", "Type something."),
        " Enter to select · ↑/↓ to navigate · Esc to cancel",
    ),
    "trust": (
        " Quick safety check: is this a folder of yours?",
        ("Yes, I trust this folder", "No, exit"),
        " Enter to confirm · Esc to cancel",
    ),
}


@dataclass(slots=True, kw_only=True)
class Options:
    """How the stand-in behaves; times in seconds."""

    prompt: str
    boot_s: float = 0.0
    first: tuple[str, ...] = ()  # commands done before the first prompt
    works: bool = False  # claims work with `gc hook --claim` and closes it
    job_s: float = 1.0
    poll_s: float = 0.0  # how often it looks for work at the prompt; 0 never
    journal: str = ""  # a file that gets a line at the begin and the end of each job
    ignores_term: bool = False
    repaints: bool = False
    hooks: bool = False  # tells the controller what it does, as an agent CLI's hooks do


def options_from(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """Options from the command line; each has a variable `STANDIN_…` as its default."""

    def given(name: str, default: str = "") -> str:
        return environ.get(f"STANDIN_{name}", default)

    parser = argparse.ArgumentParser(prog="gascity.testing.agent")
    parser.add_argument("--prompt", default=given("PROMPT", "❯ "))
    parser.add_argument("--boot", type=float, default=float(given("BOOT_S", "0")))
    parser.add_argument("--first", action="append", default=[*filter(None, [given("FIRST")])])
    parser.add_argument("--works", action="store_true", default=bool(given("WORKS")))
    parser.add_argument("--job", type=float, default=float(given("JOB_S", "1")))
    parser.add_argument("--poll", type=float, default=float(given("POLL_S", "0")))
    parser.add_argument("--journal", default=given("JOURNAL"))
    parser.add_argument("--ignore-term", action="store_true", default=bool(given("IGNORE_TERM")))
    parser.add_argument("--repaint", action="store_true", default=bool(given("REPAINT")))
    parser.add_argument("--hooks", action="store_true", default=bool(given("HOOKS")))
    found = parser.parse_args(argv)
    return Options(
        prompt=found.prompt,
        boot_s=found.boot,
        first=tuple(found.first),
        works=found.works,
        job_s=found.job,
        poll_s=found.poll,
        journal=found.journal,
        ignores_term=found.ignore_term,
        repaints=found.repaint,
        hooks=found.hooks,
    )
