"""The guide: a block in a project's AGENTS.md that tells agents about threads.

The door: `load_guide` is the text that ships with leslied, `plan_init` and
`plan_remove` decide what a file becomes, `read_paper` and `replace_paper` touch it.
Bytes outside the block belong to somebody else and stay as they are.
"""

from __future__ import annotations

from leslied.guide.guarded_file import FileSnapshot, read_snapshot, replace_file
from leslied.guide.plan import GuidePlan, plan_init, plan_remove
from leslied.guide.text import Guide, load_guide

__all__ = [
    "FileSnapshot",
    "Guide",
    "GuidePlan",
    "load_guide",
    "plan_init",
    "plan_remove",
    "read_snapshot",
    "replace_file",
]
