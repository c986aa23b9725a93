"""One table to one typed row that remembers where it stands; one bad key spoils only itself.

Source: DESIGN §1 (R5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from gascity.config.durations import BadSpan
from gascity.config.known import QUIET, UNUSED
from gascity.config.problems import Problems, Where
from gascity.config.schema import PoolTable, Table

T = TypeVar("T", bound=Table)
Values = dict[str, tuple[Any, Where]]
"""{key: (value, where it was written)} of a table that files may share."""

_WORDS: Final = {
    "missing": "is missing",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "list_type": "must be an array",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long",
}
_NAMES: Final = 'use letters, digits, "_", "-" and "." and begin with a letter or digit'
_SECRET: Final = frozenset({"env"})


@dataclass(frozen=True, slots=True)
class Row(Generic[T]):
    """A typed table and where it stands."""

    where: Where
    table: T

    def said(self) -> list[str]:
        """The keys that the file really sets."""
        return [key for key in type(self.table).model_fields if key in self.table.model_fields_set]


class TableReader:
    """Reads tables; what is wrong goes to `problems`, what is right comes back."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._told: set[str] = set()

    def array(
        self, raw: dict[str, Any], where: Where, key: str, model: type[T],
        title: str = "", kind: str = "",
    ) -> list[Row[T]]:  # fmt: skip
        """An array of tables, typed."""
        rows = []
        for inner, place in self.elements(raw, where, key, title or key):
            table = self.table(model, inner, place, kind or key)
            if table is not None:
                rows.append(Row(place, table))
        return rows

    def elements(
        self, raw: dict[str, Any], where: Where, key: str, title: str
    ) -> list[tuple[dict[str, Any], Where]]:
        """The tables of an array of tables, each with its place."""
        found = raw.get(key, [])
        if not isinstance(found, list):
            remedy = f"write [[{title}]] with two brackets"
            self.problems.add(where.error("must be an array of tables", remedy, key=key))
            return []
        result = []
        for index, inner in enumerate(found):
            if not isinstance(inner, dict):
                what, remedy = "must be a table", f"write [[{title}]] before no. {index + 1}"
                self.problems.add(where.error(what, remedy, key=key, value=inner))
                continue
            names = [inner.get(k) for k in ("name", "agent", "template")]
            name = next((n for n in names if isinstance(n, str) and n), f"no. {index + 1}")
            result.append((inner, where.below(f"[[{title}]] {name[:80]}", key, index)))
        return result

    def table(self, model: type[T], raw: Any, where: Where, kind: str) -> T | None:
        """A typed table; None if it is no table or lacks what it needs."""
        if not isinstance(raw, dict):
            key = next((part for part in reversed(where.path) if isinstance(part, str)), "")
            self.problems.add(where.error("must be a table", key=key, value=raw))
            return None
        fields = frozenset(model.model_fields)
        self.warn_of_unknown(raw, where, kind, fields)
        own = {key: value for key, value in raw.items() if key in fields}
        for key, value in list(own.items()):
            if key == "pool":
                self._unknown_of_pool(value, where)
            if _has_nul(value):
                self.problems.add(where.error("holds a NUL character", "remove it", key=key))
                del own[key]
        dropped: set[str] = set()
        while True:
            try:
                return model.model_validate(own)
            except ValidationError as fault:
                bad = self._report(fault, own, where, dropped)
                if not bad:
                    return None
                dropped |= bad
                own = {key: value for key, value in own.items() if key not in bad}

    def _unknown_of_pool(self, raw: Any, where: Where) -> None:
        if isinstance(raw, dict):
            place = where.below(f"{where.table} pool", "pool")
            self.warn_of_unknown(raw, place, "pool", frozenset(PoolTable.model_fields))

    def _report(
        self, fault: ValidationError, raw: dict[str, Any], where: Where, dropped: set[str]
    ) -> set[str]:
        """Turn each finding into a problem; the keys to leave out of the next try.

        A key that was left out because it is bad is not called missing besides.
        """
        bad: set[str] = set()
        for finding in fault.errors(include_url=False):
            path = [str(part) for part in finding["loc"]]
            key = path[0] if path else ""
            if key in dropped:
                continue
            value = raw.get(key)
            what, remedy = _wording(finding["type"], finding.get("ctx", {}), finding["msg"])
            if len(path) > 1:
                what = f"{'.'.join(path[1:])} {what}"
            shown = None if key in _SECRET or key not in raw else value
            self.problems.add(where.error(what, remedy, key=key, value=shown))
            if key in raw:
                bad.add(key)
        return bad

    def warn_of_unknown(
        self, raw: dict[str, Any], where: Where, kind: str, fields: frozenset[str]
    ) -> None:
        """Warn about keys that nobody reads, once each if they are known to be unused."""
        quiet, unused = QUIET[kind], UNUSED.get(kind, {})
        for key in raw:
            if key in fields:
                continue
            if key in quiet:
                self.problems.pass_over(kind, key)
                continue
            if key in unused:
                if raw[key] and key not in self._told:
                    self._told.add(key)
                    self.problems.add(where.warning("has no effect here", unused[key], key=key))
                continue
            near = self.problems.nearest(key, fields | quiet)
            remedy = f'did you mean "{near}"?' if near else "remove it if it is a slip"
            what = "an unknown key, so nothing reads it"
            if kind == "session_sleep":
                what = "NOT A SESSION CLASS: this sets no sleep policy at all"
                classes = "interactive_resume, interactive_fresh and noninteractive"
                remedy = f'did you mean "{near}"?' if near else f"the keys are {classes}"
            self.problems.add(where.warning(what, remedy, key=key[:80]))


def _wording(kind: str, context: dict[str, Any], message: str) -> tuple[str, str]:
    """(what, remedy) of one finding, in the operator's words."""
    reason = context.get("error")
    if isinstance(reason, BadSpan):
        return reason.what, reason.remedy
    if kind == "literal_error":
        words = context.get("expected", "").replace("'", '"').removeprefix('"", ')
        return f"must be {words}", ""
    if kind == "string_pattern_mismatch":
        return "has a sign that names may not have", _NAMES
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        least = "at least" if kind == "greater_than_equal" else "at most"
        return f"must be {least} {bound}", ""
    return _WORDS.get(kind, message), ""


def _has_nul(value: Any) -> bool:
    """Whether a text, or any text in an array or table, holds a NUL."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, list):
            todo += one
        elif isinstance(one, dict):
            todo += [*one.keys(), *one.values()]
    return False
