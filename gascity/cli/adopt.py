"""`gc init --from DIR`: a policy block for a city that exists, shown as a diff, written if asked.

Source: DESIGN §2 (CFG-19..22, R70); surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from gascity.cli.config_plan import effect, starter_block
from gascity.cli.failure import DONE, FAILED, REFUSED, USAGE, Failure
from gascity.cli.state import CONFIG, check_owner
from gascity.config.load import load_city
from gascity.config.proposal import CannotEdit, diff, edited
from gascity.report.table import safe


def adopt(args: argparse.Namespace, named: str) -> int:
    """Propose the block for the city in a folder; write it with `--write`.

    Raises:
        Failure: no city, one that does not load, or one that cannot be edited safely.
    """
    folder = Path(named).expanduser()
    loaded = load_city(folder)
    if loaded.city is None:
        first = loaded.errors[0]
        raise Failure(str(first), "see `gc config validate`", exit=USAGE)
    windows, proposal = starter_block(loaded.city)
    if not windows:
        print("nothing to propose: every class that is here has its window, or nobody runs")
        return DONE
    file = folder / CONFIG
    try:
        before = file.read_bytes().decode("utf-8")
        after = edited(before, windows)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", "give yourself read permission") from None
    except CannotEdit as refusal:
        raise Failure(str(refusal), "see `gc config plan`", exit=REFUSED) from None
    for line in diff(CONFIG, before, after).splitlines():
        print(safe(line))
    print()
    for line in effect(proposal) if proposal.changes else ("which changes nobody yet",):
        print(safe(line))
    if not args.write:
        print("nothing was written; add --write, or see `gc config plan`")
        return DONE
    _write(folder, file, after)
    print(f"wrote {safe(file)}")
    return DONE


def _write(folder: Path, file: Path, text: str) -> None:
    """Put the new text in place of the old at once; whoever reads sees one or the other."""
    check_owner(folder)
    if file.is_symlink():
        raise Failure(f"{file} is a link", "change the file it points to", exit=REFUSED)
    mode = file.stat().st_mode & 0o777
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{CONFIG}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, file)  # noqa: PTH105 - a text in, a path out
        name = ""
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", "nothing was changed", exit=FAILED) from None
    finally:
        if name:
            with suppress(OSError):
                Path(name).unlink()
