"""`python -m greval`: the command line, also if the script `greval` is not on the path."""

from __future__ import annotations

from greval.cli import main

if __name__ == "__main__":
    main()
