"""`gc hooks`: makes an agent CLI's own hooks tell the controller; shows what would change first.

What others wrote into the file stays as it is; `remove` takes away exactly what `install` added.

Source: DESIGN §8 (R15); surface "Command line"
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from gascity.cli.failure import DONE, REFUSED, Failure
from gascity.cli.hook_files import FILES, text_of, with_hooks, without_hooks
from gascity.cli.output import note

BACKUP: Final = ".before-gascity"


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the actions of `gc hooks`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    says = {
        "print": "what its file would hold if nothing else were in it",
        "install": "show what would change in its file, and with --yes change it",
        "remove": "take that away again, the same way",
    }
    for action, said in says.items():
        sub = actions.add_parser(action, help=said)
        sub.add_argument("cli", metavar="CLI", choices=sorted(FILES), help="an agent CLI")
        if action != "print":
            sub.add_argument("--file", metavar="PATH", help="another file than its user's own")
            sub.add_argument("--yes", action="store_true", help="write it")


def run(args: argparse.Namespace) -> int:
    """Print, or change one file."""
    if args.action == "print":
        print(text_of(args.cli, with_hooks(args.cli, {})), end="")
        return DONE
    path = Path(args.file) if args.file else default_file(args.cli)
    path = Path(os.path.realpath(path))
    before = _read(path)
    after = _changed(args, path, before)
    if after == before:
        print(f"{path}: nothing to {args.action}")
        return DONE
    for line in _diff(path, before, after):
        print(line)
    if not args.yes:
        note(args, f"nothing is written; `gc hooks {args.action} {args.cli} --yes` does it")
        return DONE
    _write(path, before, after)
    print(f"{path}: {'removed' if after is None else 'written'}")
    if args.action == "install" and FILES[args.cli].note:
        note(args, FILES[args.cli].note)
    return DONE


def default_file(cli: str) -> Path:
    """The user's own file of that CLI."""
    about = FILES[cli]
    folder = os.environ.get(about.variable) if about.variable else None
    return (Path(folder) if folder else Path.home() / about.home) / about.name


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise Failure(f"cannot read {path}: {problem}", "name another with --file") from None


def _changed(args: argparse.Namespace, path: Path, before: str | None) -> str | None:
    """The text afterwards; None for no file at all."""
    about = FILES[args.cli]
    if about.shape == "text":
        if before is not None and before != about.text and "gascity" not in before:
            raise Failure(f"{path} is somebody else's", "move it, or name another", exit=REFUSED)
        return about.text if args.action == "install" else None
    document = _document(path, before)
    if args.action == "install":
        wanted = with_hooks(args.cli, document)
        return before if wanted == document else text_of(args.cli, wanted)
    left = without_hooks(document)
    if left == document:
        return before
    return None if about.is_ours and not left.get("hooks") else text_of(args.cli, left)


def _document(path: Path, text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text) if text and text.strip() else {}
    except ValueError as problem:
        do = "mend it, or add what `gc hooks print` shows by hand"
        raise Failure(f"{path} is no plain JSON: {problem}", do, exit=REFUSED) from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in hooks.values()):
        do = "its hooks are of a kind this version does not know; add them by hand"
        raise Failure(f"{path} holds something else than hooks", do, exit=REFUSED)
    return dict(found)


def _diff(path: Path, before: str | None, after: str | None) -> list[str]:
    old, new = (before or "").splitlines(), (after or "").splitlines()
    return list(difflib.unified_diff(old, new, str(path), str(path), lineterm=""))


def _write(path: Path, before: str | None, after: str | None) -> None:
    """Replace the file in one step, with its rights; what was there first is kept beside it."""
    try:
        if after is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = path.with_name(path.name + BACKUP)
        if before is not None and not backup.exists():
            backup.write_text(before, encoding="utf-8")
            backup.chmod(path.stat().st_mode & 0o777)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(after)
        new = Path(name)
        new.chmod(path.stat().st_mode & 0o777 if before is not None else 0o600)
        new.replace(path)
    except OSError as problem:
        raise Failure(f"cannot write {path}: {problem.strerror}", "see its folder") from None
