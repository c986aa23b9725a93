"""The tests tested: one edit at a time in the product, and some test must fail for each.

`draw.py` makes the mutants, `forks.py` runs the tests on each, `explained.py` reads why one may
live; `python -m tests.mutants` puts them together.
"""
