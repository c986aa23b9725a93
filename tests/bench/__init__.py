"""What is measured: `make bench` runs every `bench_*.py` of this folder and prints one table.

A bench module has one function, `measurements()`, that yields what `measure.py` makes.
"""
