"""Where a pack lies: a folder, a folder that stands for a source, or a cache that somebody filled.

Nothing is ever fetched. What the other tools of the ecosystem have fetched before is used as long
as it is pinned by a commit and the checkout is at that commit; everything else is absent, and says
what would help.

Source: DESIGN §2 (R6a), §W (R70)
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from gascity.config.files import Unreadable
from gascity.config.schema import PackRefTable

PACK_FILE: Final = "pack.toml"
_REMOTE: Final = re.compile(r"(?:https?|ssh|git|file)://|git@|github\.com/")
_TREE: Final = re.compile(r"(https://github\.com/[^/]+/[^/]+)/(?:tree|blob)/([^/]+)(?:/(.*))?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_HEAD_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """A pack that is here: its real folder, and the folders that packs it names must lie in."""

    folder: Path
    homes: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A pack that is not here: what it is ("remote", "not found"), what would help, its source."""

    state: str
    remedy: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote source taken apart: what is cloned, the folder in it, and the revision asked for."""

    clone: str
    inner: str
    ref: str


def remote(source: str) -> Remote | None:
    """A source that is not a path, taken apart; None for a path."""
    if not _REMOTE.match(source):
        return None
    tree = _TREE.fullmatch(source)
    if tree:
        return Remote(f"{tree[1].removesuffix('.git')}.git", tree[3] or "", tree[2])
    text, _, ref = source.partition("#")
    scheme = text.find("://") + 3 if "://" in text else 0
    cut = text.find("//", scheme)
    return Remote(text, "", ref) if cut < 0 else Remote(text[:cut], text[cut + 2 :], ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Finds packs for one city.

    Attributes:
        named: `[packs]` of the city.
        locked: {source: commit} of `packs.lock`.
        mapped: {source as written: the folder that stands for it, and the folder of the map}.
    """

    city: Path
    named: Mapping[str, PackRefTable]
    locked: Mapping[str, str]
    mapped: Mapping[str, tuple[Path, Path]]

    def find(
        self, source: str, *, version: str = "", beside: Place | None = None
    ) -> Place | Absent:
        """The folder of a pack, or why it is not here: with its source if a name stood for it.

        Args:
            source: As written: a path, a source, or (without `version`) a name of `[packs]`.
            beside: The pack that names it; None for the city's own files, which may name any
                folder of this machine.

        Raises:
            Unreadable: a path that may not be followed.
        """
        ref = self.named.get(source) if beside is None else None
        if ref is None:
            return self._find(source, version, "", "", beside)
        found = self._find(ref.source, ref.ref, ref.path, source, beside)
        return replace(found, source=ref.source) if isinstance(found, Absent) else found

    def _find(
        self, source: str, version: str, inner: str, name: str, beside: Place | None
    ) -> Place | Absent:
        """The same for a source that is no name; `inner` is the folder in it."""
        for text in ((f"{source}//{inner}",) if inner else ()) + (source,):
            if text in self.mapped:
                return self._mapped(*self.mapped[text], inner)
        apart = remote(source)
        if apart is None:
            return self._local(source, inner, beside)
        inner = "/".join(part for part in (apart.inner, inner) if part)
        return self._cached(source, apart, version or apart.ref, inner, name)

    def _mapped(self, folder: Path, home: Path, inner: str) -> Place | Absent:
        """A folder that stands for a source: the pack itself, or what it is in."""
        for candidate in (folder / inner, folder):
            if (candidate / PACK_FILE).is_file():
                real = candidate.resolve()
                return Place(real, (home if real.is_relative_to(home) else real.parent, self.city))
        return Absent("mapped to a folder without pack.toml", f"correct the map: {folder}")

    def _local(self, text: str, inner: str, beside: Place | None) -> Place | Absent:
        """A folder by path: any for the city's own files, one within its homes for a pack."""
        if not text or "\0" in text:
            raise Unreadable("no path", 'write a path such as "packs/mine"')
        relative = text.removeprefix("//")
        base = self.city if text.startswith("//") or beside is None else beside.folder
        if beside is not None and PurePosixPath(relative).is_absolute():
            raise Unreadable("an absolute path in a pack", "write it relative to the pack")
        try:
            real = (base / os.path.expanduser(relative) / inner).resolve()  # noqa: PTH111
            is_here = (real / PACK_FILE).is_file()
        except (OSError, RuntimeError, ValueError) as fault:
            raise Unreadable(f"cannot be found: {fault}", "correct the path") from None
        homes = beside.homes if beside else (self.city,)
        if not any(real.is_relative_to(home) for home in homes):
            if beside is not None:
                what = "outside what its pack may name"
                raise Unreadable(what, "import it in the city's own file, by any path")
            homes = (real.parent, self.city)
        if is_here:
            return Place(real, homes)
        what = "a folder without pack.toml" if real.is_dir() else "not found"
        return Absent(what, f"put it at {relative}, or map the source with --pack-map FILE")

    def _cached(
        self, source: str, apart: Remote, version: str, inner: str, name: str
    ) -> Place | Absent:
        """The checkout of a remote source, if it is pinned, here, and at its pin."""
        commit = self.locked.get(source) or self.locked.get(apart.clone, "")
        commit = (commit or version.removeprefix("sha:")).lower()
        if not _COMMIT.fullmatch(commit):
            remedy = "pin it by commit and fetch it with the tool that wrote the city, or map it"
            return Absent("remote and not pinned by a commit", f"{remedy} with --pack-map FILE")
        for checkout in self._checkouts(apart.clone, commit, name):
            if head_of(checkout) != commit:
                continue
            root = checkout.resolve()
            folder = (root / inner).resolve()
            if not folder.is_relative_to(root):
                raise Unreadable("leads outside its repository", "correct the path in the source")
            if (folder / PACK_FILE).is_file():
                return Place(folder, (root, self.city))
            return Absent("cached without this folder", "correct the path in the source")
        remedy = "fetch it with the tool that wrote the city, or map it with --pack-map FILE"
        return Absent("remote and not in the cache", remedy)

    def _checkouts(self, clone: str, commit: str, name: str) -> Iterator[Path]:
        """Where other tools keep checkouts, the newer place first."""
        home = os.environ.get("GC_HOME", "").strip() or os.path.expanduser("~/.gc")  # noqa: PTH111
        key = hashlib.sha256(f"{clone}{commit}".encode("utf-8", "surrogatepass")).hexdigest()
        yield Path(home) / "cache" / "repos" / key
        slug = clone if "://" in clone else clone.rpartition(":")[2]
        slug = slug.rstrip("/").rpartition("/")[2].removesuffix(".git") or "include"
        digest = hashlib.sha256(clone.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        yield self.city / ".gc" / "cache" / "includes" / f"{slug}-{digest}"
        if name and "/" not in name and name not in (".", ".."):
            yield self.city / ".gc" / "cache" / "packs" / name


def head_of(checkout: Path) -> str:
    """The commit a checkout is at, by reading its files; "" if there is none to be read."""
    git = checkout / ".git"
    head = _first_line(git / "HEAD")
    if head.startswith("ref: refs/") and ".." not in head:
        head = _first_line(git / head.removeprefix("ref: "))
    return head.lower() if _COMMIT.fullmatch(head.lower()) else ""


def _first_line(path: Path) -> str:
    """The first line of a small file; "" if it is no readable one."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            data = stream.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8", "replace").partition("\n")[0].strip()
