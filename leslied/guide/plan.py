"""Compute a file's content with or without the guide; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leslied.errors import UserError
from leslied.guide.block import (
    GuideBlock,
    append_block,
    find_blocks,
    remove_block,
    replace_block,
)
from leslied.guide.version import compare_versions

if TYPE_CHECKING:
    from leslied.guide.text import Guide

PlanStatus = Literal[
    "created", "appended", "updated", "unchanged", "skipped", "removed", "absent"
]
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidePlan:
    """A planned change; `data` is the file's new content, None if it must not exist."""

    status: PlanStatus
    data: bytes | None
    previous_version: str | None = None
    next_version: str | None = None
    needs_consent: bool = False
    """Whether the user must agree, because the update is major or of unknown size."""

    @property
    def was_edited(self) -> bool:
        """Whether the update replaces a text that was edited by hand."""
        is_same_version = self.previous_version == self.next_version
        return self.status == "updated" and is_same_version


def plan_init(data: bytes | None, guide: Guide) -> GuidePlan:
    """Plan a file that contains this guide once; raise UserError if impossible."""
    if data is None:
        text = guide.text + b"\n"
        return GuidePlan(status="created", data=text, next_version=guide.version)
    _check_not_utf16(data)
    blocks = find_blocks(data)
    if not blocks:
        text = append_block(data, guide.text)
        return GuidePlan(status="appended", data=text, next_version=guide.version)
    if len(blocks) > 1:
        raise UserError(
            f"There is more than one guide, on lines {_format_lines(blocks)}: "
            "nothing was changed.",
            "To remove all of them: leslied init --remove",
        )
    return _plan_update(data, blocks[0], guide)


def plan_remove(data: bytes | None) -> GuidePlan:
    """Plan to remove all guides, and to delete a file that `plan_init` created."""
    blocks = find_blocks(data) if data is not None else []
    if data is None or not blocks:
        return GuidePlan(status="absent", data=data)
    new_data = data
    for block in reversed(blocks):
        new_data = remove_block(new_data, block)
    # A file that `plan_init` created begins with the block, and is deleted. A file that
    # existed but was empty begins with a blank line, and stays.
    was_created = not new_data and blocks[0].start == 0
    return GuidePlan(
        status="removed",
        data=None if was_created else new_data,
        previous_version=blocks[0].version,
    )


def _plan_update(data: bytes, block: GuideBlock, guide: Guide) -> GuidePlan:
    """Plan to replace the block by the guide; raise UserError for a downgrade."""
    version_step = compare_versions(block.version, guide.version)
    if version_step == "downgrade":
        raise UserError(
            f"The guide in the file has version {block.version}, but this leslied has "
            f"{guide.version}: nothing was changed.",
            "Update leslied, or remove the guide: leslied init --remove",
        )
    old_text = data[block.start : block.end].replace(b"\r\n", b"\n")
    is_equal = old_text == guide.text
    return GuidePlan(
        status="unchanged" if is_equal else "updated",
        data=data if is_equal else replace_block(data, block, guide.text),
        previous_version=block.version,
        next_version=guide.version,
        needs_consent=version_step in ("major", "unknown"),
    )


def _check_not_utf16(data: bytes) -> None:
    """Raise UserError for UTF-16, which cannot contain a block of ASCII bytes."""
    if data.startswith(_UTF16_BOMS):
        raise UserError(
            "The file is in UTF-16, but the guide needs UTF-8: nothing was changed.",
            "Save the file in UTF-8, then try again.",
        )


def _format_lines(blocks: list[GuideBlock]) -> str:
    *first, last = (str(block.line) for block in blocks)
    return f"{', '.join(first)} and {last}"
