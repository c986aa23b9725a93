"""`gc init`: a folder becomes a city: a commented `city.toml` and `.gc/`; nothing is overwritten.

Source: DESIGN §2 (CFG-19, CFG-20, R78); surface "Command line"
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gascity.cli.failure import DONE, FAILED, REFUSED, USAGE, Failure
from gascity.cli.state import CONFIG, make_state
from gascity.config.starters import STARTERS, starter_toml
from gascity.report.table import safe


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc init`."""
    parser.add_argument("folder", nargs="?", metavar="DIR", help="where (else --city, else here)")
    parser.add_argument(
        "--starter",
        choices=STARTERS,
        default=STARTERS[0],
        help="how long workers stay warm: not at all (full), or by the clock (timed-only)",
    )
    parser.add_argument(
        "--from", dest="origin", metavar="DIR", help="propose a policy block for the city there"
    )
    parser.add_argument("--write", action="store_true", help="with --from: write it")


def run(args: argparse.Namespace) -> int:
    """Make the city and say what to do next."""
    if args.origin is not None:
        if args.folder:
            raise Failure("DIR and --from both name a folder", "give one of them", exit=USAGE)
        from gascity.cli.adopt import adopt

        return adopt(args, args.origin)
    if args.write:
        raise Failure("--write needs --from", "say --from DIR", exit=USAGE)
    if args.folder and args.city:
        raise Failure("DIR and --city both name a folder", "give one of them", exit=USAGE)
    named = Path(args.folder or args.city or ".").expanduser()
    file = named / CONFIG
    try:
        named.mkdir(parents=True, exist_ok=True)
        folder = named.resolve()
        with file.open("x", encoding="utf-8") as city:
            city.write(starter_toml(args.starter, folder.name or "city"))
        make_state(folder)
    except FileExistsError:
        what = f"{file} is there already" if file.exists() else f"{named} is a file"
        raise Failure(what, "choose another folder, or edit it", exit=REFUSED) from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}", "choose a folder you may write",
                      exit=FAILED) from None  # fmt: skip
    print(f"made {safe(file)}")
    print("next: edit it, check it with `gc config validate`, then `gc start`")
    return DONE
