"""Replace generated sections of pages that are otherwise written by hand."""

from __future__ import annotations

import re


def replace_section(text: str, name: str, content: str) -> str:
    """Replace the text between the markers of this name."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    return re.sub(pattern, lambda m: m[1] + content + m[2], text, flags=re.DOTALL)
