"""The list of proofs: what it finds in a test file, and that the page is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import conformance


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("one", set()),
        ("POL" + "-09", {"POL-09"}),
        ("POL" + "-09..11", {"POL-09", "POL-10", "POL-11"}),
        ("POL" + "-09..POL-10, R28", {"POL-09", "POL-10"}),
        ("FP" + "-01 and CAP" + "-07.", {"FP-01", "CAP-07"}),
        ("XPOL" + "-09", set()),
    ],
    ids=["none", "single", "range", "long range", "two", "another word"],
)
def test_ids_and_ranges_are_found(text: str, ids: set[str]) -> None:
    """Single ids and both spellings of a range are read; other words are not."""
    assert conformance.cited_in(text) == ids


SAMPLE = '''
"""About A.BC-01..02."""
class TestIt:
    """A.BC-02."""
    @pytest.mark.parametrize("x", [1], ids=["A.BC-04 row"])
    def test_this(self, x):
        """A.BC-03."""
def not_a_test():
    """A.BC-05."""
def test_that():
    """A.BC-01."""
'''.replace("A.BC", "CFG")


def test_a_test_claims_what_it_says(tmp_path: Path) -> None:
    """A test's docstring and its parametrised ids count as its own; those around it as a whole."""
    path = tmp_path / "test_x.py"
    path.write_text(SAMPLE, encoding="utf-8")
    claims = {one.test: one for one in conformance.claims_of(path, root=tmp_path)}
    assert {name: sorted(one.requirements) for name, one in claims.items()} == {
        "test_x.py": ["CFG-01", "CFG-02"],
        "test_x.py::test_that": ["CFG-01"],
        "test_x.py::TestIt": ["CFG-02"],
        "test_x.py::TestIt::test_this": ["CFG-03", "CFG-04"],
    }
    assert {name for name, one in claims.items() if one.is_whole} == {
        "test_x.py",
        "test_x.py::TestIt",
    }


def test_a_whole_file_stands_only_for_what_no_test_proves(tmp_path: Path) -> None:
    """The page names the test where there is one, the file where there is none, else "not yet"."""
    path = tmp_path / "test_x.py"
    path.write_text(SAMPLE, encoding="utf-8")
    known = {f"CFG-{number:02d}": "title" for number in (1, 2, 5)}
    lines = conformance.page(conformance.claims_of(path, root=tmp_path), known).splitlines()
    assert "| CFG-01 | title | `test_x.py::test_that` |" in lines
    assert "| CFG-02 | title | `test_x.py` |" in lines
    assert "| CFG-05 | title | not yet |" in lines


def test_every_cited_requirement_exists() -> None:
    """A test cannot claim an id that is not in the list."""
    known = conformance.requirements().keys()
    wrong = {
        claim.test: sorted(claim.requirements - known)
        for claim in conformance.all_claims()
        if claim.requirements - known
    }
    assert wrong == {}


def test_every_requirement_has_an_area() -> None:
    """No requirement falls out of the page."""
    areas = {one.split("-")[0] for one in conformance.requirements()}
    assert areas == set(conformance.AREAS)


def test_the_page_is_current() -> None:
    """docs/conformance.md says what the tests say now; `make conformance` writes it."""
    current = conformance.page(conformance.all_claims(), conformance.requirements())
    is_current = conformance.PAGE.read_text(encoding="utf-8") == current
    assert is_current, "docs/conformance.md is stale; run `make conformance`"
