"""Entry point of `python -m leslied`, the same as the `leslied` command."""

from __future__ import annotations

from leslied.cli import main

if __name__ == "__main__":
    main()
