"""Reading the files of a city without being led outside it or into a trap.

Knows owners, modes, sizes and links; nothing of TOML. Everything that goes wrong is an
`Unreadable` with a remedy, never a traceback.

Source: DESIGN §W (R70)
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import Final

MOST_BYTES: Final = 1024 * 1024
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER: Final = _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW


class Unreadable(OSError):
    """A file that is not read: `what` is wrong, the `remedy`, and whether it `is_missing`."""

    def __init__(self, what: str, remedy: str = "", *, is_missing: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.is_missing = is_missing


def read_root(path: Path) -> tuple[bytes, os.stat_result]:
    """The bytes and status of a city's own file; a link is followed, anything but a file refused.

    Raises:
        Unreadable: missing, no regular file, too large, or not ours to read.
    """
    try:
        handle = os.open(path, _FLAGS)
    except OSError as fault:
        raise _unreadable(fault, path.name) from None
    return _take(handle, path.name)


def read_fragment(
    city: Path, name: str, beside: Path, *, whole: str = "city"
) -> tuple[bytes, os.stat_result, Path]:
    """The bytes, status and real path of an included file, which must lie inside the city.

    Args:
        city: The real path of the city folder, or of the pack that the file belongs to.
        name: As written; `//` at the start means the city folder, else it is read from `beside`.
        beside: The folder of the file that includes it.
        whole: What `city` is, for people.

    The path is resolved first and then walked folder by folder from the city without following
    links, so that nobody can swap a link in between.

    Raises:
        Unreadable: as `read_root`, or outside the city.
    """
    relative = name.removeprefix("//")
    if not relative or "\0" in relative:
        raise Unreadable("no path", f'write a path inside the {whole}, such as "parts/agents.toml"')
    if PurePosixPath(relative).is_absolute():
        raise Unreadable("an absolute path", "write it relative to this file")
    base = city if name.startswith("//") else beside
    try:
        real = (base / relative).resolve(strict=True)
    except OSError as fault:
        raise _unreadable(fault, name) from None
    except RuntimeError:
        raise Unreadable("a circle of links", "point it at a file") from None
    if not real.is_relative_to(city):
        raise Unreadable(f"outside the {whole}", f"move the file into the folder of the {whole}")
    parts = real.relative_to(city).parts
    if not parts:
        raise Unreadable("a folder", "name a file in it")
    try:
        handle = _walk(city, parts)
    except OSError as fault:
        raise _unreadable(fault, name) from None
    return (*_take(handle, name), real)


def subfolders(whole: Path, name: str) -> tuple[list[str], os.stat_result]:
    """The names of the folders in a folder of a pack, sorted, and its status.

    Raises:
        Unreadable: no folder, outside the pack, or not ours to read.
    """
    try:
        real = (whole / name).resolve(strict=True)
        if not real.is_relative_to(whole):
            raise Unreadable(
                f"{name} leads outside the pack", "move it into the folder of the pack"
            )
        handle = _walk(whole, real.relative_to(whole).parts)
    except OSError as fault:
        raise fault if isinstance(fault, Unreadable) else _unreadable(fault, name) from None
    except RuntimeError:
        raise Unreadable(f"{name} is a circle of links", "make it a folder") from None
    try:
        status = os.fstat(handle)
        with os.scandir(handle) as entries:
            found = sorted(one.name for one in entries if one.is_dir())
    except OSError as fault:
        raise _unreadable(fault, name) from None
    finally:
        os.close(handle)
    return found, status


def distrust(status: os.stat_result, folder: os.stat_result) -> tuple[str, str, bool]:
    """Why a configuration is not trusted: (what, remedy, whether it is refused); "" if it is.

    Commands from it run as us, so it must be ours (or root's, for a service that root set up) and
    writable by nobody else. Root follows only what root owns.

    Source: DESIGN §W (R70)
    """
    own = os.geteuid()
    for about, what in ((status, "the file"), (folder, "its folder")):
        if about.st_uid != own:
            if own == 0:
                text = f"{what} belongs to user {about.st_uid}; root does not run another's city"
                return text, f"start it as user {about.st_uid}", True
            if about.st_uid != 0:
                text = f"{what} belongs to user {about.st_uid}, and its commands would run as you"
                return text, "copy the city, or have it given to you with chown", True
        shared_folder = about is folder and about.st_mode & stat.S_ISVTX
        if about.st_mode & stat.S_IWOTH and not shared_folder:
            return f"{what} is writable by everybody", "chmod o-w it", True
    if status.st_mode & stat.S_IWGRP:
        return "the file is writable by its group", "chmod g-w it, or trust the group", False
    return "", "", False


def _walk(city: Path, parts: tuple[str, ...]) -> int:
    """Open a file below the city, one folder after the other, following no link."""
    folder = os.open(city, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _take(handle: int, name: str) -> tuple[bytes, os.stat_result]:
    """Read the whole of a regular file within the limit, and close it."""
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise Unreadable(f"{name} is {kind}", "name a TOML file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(MOST_BYTES + 1)
    except Unreadable:
        raise
    except OSError as fault:
        raise _unreadable(fault, name) from None
    finally:
        os.close(handle)
    if len(data) > MOST_BYTES:
        raise Unreadable(
            f"more than {MOST_BYTES // 1024} KiB",
            "split it with include, or remove what is not ours",
        )
    return data, status


def _unreadable(fault: OSError, name: str) -> Unreadable:
    """An operating system error in the operator's words."""
    if fault.errno in (errno.ENOENT, errno.ENOTDIR):
        return Unreadable(f"there is no {name}", is_missing=True)
    if fault.errno in (errno.EACCES, errno.EPERM):
        return Unreadable("may not be read", "give yourself read permission (chmod u+r)")
    if fault.errno == errno.ELOOP:
        return Unreadable("a link where a file or folder was expected", "point it at a file")
    return Unreadable(f"cannot be read: {fault.strerror or fault}")
