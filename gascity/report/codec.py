"""Frozen dataclasses ↔ plain JSON values, made from their type hints and losing nothing.

Knows no class by name, so a new field or noun needs no line here:

- a dataclass is an object of all its fields; inside a union it also names its class under `is`;
- an enum is its value, inside a union an object with `is` and `value`;
- an instant is RFC 3339 text; a tuple a list; a frozenset a sorted list;
- a mapping is an object, or a list of pairs where its keys are no text.

Written by one version and read by another, an object may hold fields that are not known here
(kept, and named in `Found.unknown`) or lack some that are (their defaults hold, and they are named
in `Found.absent`). Anything else that does not fit raises `Unreadable`, with the path to it.

Source: DESIGN §11 (R73)
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

IS: Final = "is"
_UNIONS: Final = (Union, types.UnionType)
_PLAIN: Final = (str, int, bool, float)

Encoder: TypeAlias = Callable[[Any], Any]
Decoder: TypeAlias = Callable[[Any, "Found", str], Any]


class Unreadable(ValueError):
    """A value that this version cannot understand: where, and what is wrong with it."""


@dataclass(slots=True)
class Found:
    """What a reading met besides its value: {path: value} of unknown fields, paths of absent ones.

    A path names classes, not keys: `Session.colour`, so that it is listed once for many.
    """

    unknown: dict[str, Any] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)


def encode(value: Any, kind: Any = None) -> Any:
    """The JSON value of anything that `kind` (default: its own class) describes."""
    described: Any = kind if kind is not None else type(value)
    return encoder(described)(value)


def decode(kind: Any, data: Any, found: Found | None = None) -> Any:
    """The value of type `kind` that `data` stands for.

    Raises:
        Unreadable: it stands for none that this version knows.
    """
    return decoder(kind)(
        data, found if found is not None else Found(), getattr(kind, "__name__", "")
    )


@cache
def encoder(kind: Any) -> Encoder:
    """How values of this type are written."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return _union_encoder(inner)
    if is_dataclass(origin or kind):
        return _object_encoder(kind)
    if kind is datetime:
        return datetime.isoformat
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: value.value
    if origin is tuple:
        return _tuple_encoder(inner)
    if origin is frozenset:
        return lambda value: sorted(value)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_encoder(*inner)
    if kind in _PLAIN or kind is Any:
        return _same
    raise TypeError(f"no JSON form for {kind!r}")


@cache
def decoder(kind: Any) -> Decoder:
    """How values of this type are read."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return _union_decoder(inner)
    if is_dataclass(origin or kind):
        return _object_decoder(kind)
    if kind is datetime:
        return _instant
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_decoder(kind)
    if origin in (tuple, frozenset):
        return _list_decoder(origin, inner)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(*inner)
    if kind in _PLAIN or kind is Any:
        return _plain_decoder(kind)
    raise TypeError(f"no JSON form for {kind!r}")


def _same(value: Any) -> Any:
    return value


def _is_text(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, str)


def _class_of(kind: Any) -> type:
    found: type = get_origin(kind) or kind
    return found


def _described(kind: Any) -> list[tuple[Field[Any], Any]]:
    """Every field with its type, type variables filled in from `kind`."""
    owner = _class_of(kind)
    hints = get_type_hints(owner)
    given = dict(zip(getattr(owner, "__parameters__", ()), get_args(kind), strict=False))
    return [
        (one, given.get(hint, hint) if isinstance(hint, TypeVar) else hint)
        for one in fields(owner)
        for hint in [hints[one.name]]
    ]


# -- Objects


def _object_encoder(kind: Any) -> Encoder:
    parts = [(one.name, encoder(hint)) for one, hint in _described(kind)]
    return lambda value: {name: write(getattr(value, name)) for name, write in parts}


def _object_decoder(kind: Any) -> Decoder:
    owner = _class_of(kind)
    described = _described(kind)
    parts = {one.name: decoder(hint) for one, hint in described}
    optional = {
        one.name
        for one, _ in described
        if one.default is not MISSING or one.default_factory is not MISSING
    }

    def read(data: Any, found: Found, path: str) -> Any:
        if not isinstance(data, dict):
            raise Unreadable(f"{path}: {owner.__name__} is an object, not {_short(data)}")
        given: dict[str, Any] = {}
        for name, value in data.items():
            part = parts.get(name)
            if part is not None:
                given[name] = part(value, found, f"{path}.{name}")
            elif name != IS:
                found.unknown.setdefault(f"{owner.__name__}.{name}", value)
        for name in parts.keys() - given.keys():
            if name not in optional:
                raise Unreadable(f"{path}.{name}: missing")
            found.absent.add(f"{owner.__name__}.{name}")
        try:
            return owner(**given)
        except AssertionError as problem:
            raise Unreadable(f"{path}: {problem}") from None

    return read


# -- Unions


def _union_encoder(inner: tuple[Any, ...]) -> Encoder:
    kinds = [one for one in inner if one is not type(None)]
    if len(kinds) == 1:
        only = encoder(kinds[0])
        return lambda value: None if value is None else only(value)
    writers = {_class_of(one): encoder(one) for one in kinds}

    def write(value: Any) -> Any:
        if value is None:
            return None
        owner = type(value)
        written = writers[owner](value)
        return {IS: owner.__name__, **(written if is_dataclass(owner) else {"value": written})}

    return write


def _union_decoder(inner: tuple[Any, ...]) -> Decoder:
    kinds = [one for one in inner if one is not type(None)]
    may_be_none = len(kinds) < len(inner)
    readers = {_class_of(one).__name__: (one, decoder(one)) for one in kinds}
    only = decoder(kinds[0]) if len(kinds) == 1 else None

    def read(data: Any, found: Found, path: str) -> Any:
        if data is None and may_be_none:
            return None
        if only is not None:
            return only(data, found, path)
        name = data.get(IS) if isinstance(data, dict) else None
        if name not in readers:
            raise Unreadable(f"{path}: none of {', '.join(readers)}: {_short(data)}")
        kind, reader = readers[name]
        value = data if is_dataclass(_class_of(kind)) else data.get("value")
        return reader(value, found, path)

    return read


# -- Collections


def _tuple_encoder(inner: tuple[Any, ...]) -> Encoder:
    if inner[-1] is Ellipsis:
        item = encoder(inner[0])
        return list if item is _same else lambda value: [item(one) for one in value]
    items = [encoder(one) for one in inner]
    return lambda value: [write(one) for write, one in zip(items, value, strict=True)]


def _list_decoder(origin: type, inner: tuple[Any, ...]) -> Decoder:
    many = origin is frozenset or inner[-1] is Ellipsis
    items = [decoder(one) for one in inner if one is not Ellipsis]

    def read(data: Any, found: Found, path: str) -> Any:
        if not isinstance(data, list) or not (many or len(data) == len(items)):
            raise Unreadable(f"{path}: not a list as expected: {_short(data)}")
        each = items * len(data) if many else items
        return origin(part(one, found, path) for part, one in zip(each, data, strict=True))

    return read


def _mapping_encoder(key: Any, value: Any) -> Encoder:
    keys, values = encoder(key), encoder(value)
    if _is_text(key):
        return lambda given: {keys(k): values(v) for k, v in given.items()}
    return lambda given: [[keys(k), values(v)] for k, v in given.items()]


def _mapping_decoder(key: Any, value: Any) -> Decoder:
    keys, values = decoder(key), decoder(value)
    expected = dict if _is_text(key) else list

    def read(data: Any, found: Found, path: str) -> Any:
        if not isinstance(data, expected):
            raise Unreadable(f"{path}: not a mapping: {_short(data)}")
        pairs = data.items() if isinstance(data, dict) else data
        if any(not isinstance(pair, list | tuple) or len(pair) != 2 for pair in pairs):
            raise Unreadable(f"{path}: a mapping is made of pairs")
        return {keys(k, found, path): values(v, found, f"{path}[{k}]") for k, v in pairs}

    return read


# -- Single values


def _instant(data: Any, found: Found, path: str) -> datetime:
    try:
        instant = datetime.fromisoformat(data)
    except (TypeError, ValueError):
        raise Unreadable(f"{path}: not an instant: {_short(data)}") from None
    return instant


def _enum_decoder(kind: type[Enum]) -> Decoder:
    known = {one.value: one for one in kind}

    def read(data: Any, found: Found, path: str) -> Enum:
        if not isinstance(data, str | int) or data not in known:
            raise Unreadable(f"{path}: no {kind.__name__} of this version: {_short(data)}")
        return known[data]

    return read


def _plain_decoder(kind: Any) -> Decoder:
    def read(data: Any, found: Found, path: str) -> Any:
        if kind is not Any and type(data) is not kind:
            raise Unreadable(f"{path}: not {kind.__name__}: {_short(data)}")
        return data

    return read


def _short(data: Any) -> str:
    return repr(data)[:60]
