"""The guide: a block in a project's AGENTS.md that explains threads to agents.

`load_guide` returns the text that ships with leslied, `plan_init` and `plan_remove`
compute a file's new content. Bytes outside the block belong to the user and never
change.
"""

from __future__ import annotations

from leslied.guide.plan import GuidePlan, plan_init, plan_remove
from leslied.guide.text import Guide, load_guide

__all__ = [
    "Guide",
    "GuidePlan",
    "load_guide",
    "plan_init",
    "plan_remove",
]
