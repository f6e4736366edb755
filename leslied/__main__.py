"""`python -m leslied` is the `leslied` command."""

from __future__ import annotations

from leslied.cli import main

if __name__ == "__main__":
    main()
