"""`python -m gascity`: the same as the command `gc`."""

import sys

from gascity.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
