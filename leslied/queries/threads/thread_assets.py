"""One thread with its assets and who wrote them, and the content of an asset.

No path of a request reaches the disk: it is compared with the paths of the files that
the thread has.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import UserError
from leslied.layout import collected_file
from leslied.queries.resolve import resolve_id
from leslied.queries.threads.assets import load_asset_indexes
from leslied.rendering.markdown_html import render_markdown_html, render_pre
from leslied.sinks import find_project
from leslied.threads.assets import find_assets, find_title, read_stamp, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext

MAX_ASSET_BYTES = 512 * 1024
"""The rest of a larger asset is not shown."""
_COLLECTED_TYPES = ("plan", "progress")
_MAX_CALLS = 5
"""Only this many of the calls that wrote a file are named: the last ones."""
_CHECKBOX = re.compile(
    r"^[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+\[([ xX])\][ \t]", re.MULTILINE
)


class ThreadAssetIndex(NamedTuple):
    """A thread with its assets, and the calls that wrote them."""

    thread: dict[str, Any]
    """The thread's index as in its file, but with fewer calls, and their entry ids."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self.thread


class AssetContent(NamedTuple):
    """The content of an asset, as HTML in which all text is escaped."""

    path: str
    title: str
    html: str
    size: int
    is_cut: bool
    """Whether the asset is larger than what is shown."""
    boxes: int
    """Number of checkboxes in a Markdown file."""
    ticked: int
    """Number of ticked checkboxes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self._asdict()


def load_thread_assets(context: QueryContext, thread_id: str) -> ThreadAssetIndex:
    """Return a thread with its assets, and the entry ids of the calls that wrote them.

    Raise UserError if the thread is unknown or has no index.
    """
    (index,) = load_asset_indexes(context, thread_id, Path("/")).threads
    assets = [
        {**_add_provenance(context, asset), "files": files}
        if (files := _list_files(context, asset)) is not None
        else _add_provenance(context, asset)
        for asset in index["assets"]
    ]
    return ThreadAssetIndex({**index, "assets": assets})


def load_asset_content(
    context: QueryContext, thread_id: str, shown_path: str
) -> AssetContent:
    """Return the content of an asset, by its path as it is shown.

    Raise UserError if the thread has no such asset.
    """
    session = resolve_id(context.reader, thread_id).session
    for base, path in _iter_asset_files(session):
        if context.redact(path) != shown_path:
            continue
        stamp = read_stamp(base, path)
        text = read_text(base, path, MAX_ASSET_BYTES)
        if stamp and text is not None:
            size, *_ = stamp
            return _make_content(context, path, text, size)
    raise UserError(
        f"{session.thread_id} has no asset {shown_path}.",
        f"List its assets with: leslied assets {session.thread_id}",
    )


def _list_files(
    context: QueryContext, asset: dict[str, Any]
) -> list[dict[str, Any]] | None:
    """Return the files of an asset that is a folder, else None."""
    files = asset.get("files")
    return files and [_add_provenance(context, file) for file in files]


def _add_provenance(context: QueryContext, file: dict[str, Any]) -> dict[str, Any]:
    """Return the file with its last calls and the ids of their entries."""
    calls = file.get("calls")
    if not calls:
        return file
    find_entry_id = context.reader.files.find_entry_id
    originals: dict[str, dict[str, Any]] = {}
    for call in calls:
        # A fork has copies of its parent's calls; the parent's own come first.
        originals.setdefault(str(call["call_id"]), call)
    shown_calls = [
        {**call, "entry_id": find_entry_id(call_id) or None}
        for call_id, call in list(originals.items())[-_MAX_CALLS:]
    ]
    return {**file, "calls": shown_calls}


def _iter_asset_files(session: SessionSummary) -> Iterator[tuple[Path, str]]:
    """Yield base folder and path below it of every file of the thread's assets."""
    for base in _list_base_folders(session):
        for asset in find_assets(base, session.thread_id):
            for file in asset.files:
                yield base, file.path
        # leslied has copies of assets that the agent keeps elsewhere.
        for asset_type in _COLLECTED_TYPES:
            yield base, collected_file(session.thread_id, asset_type)


def _list_base_folders(session: SessionSummary) -> list[Path]:
    """Return the folders that may hold the thread: its output folder, its project."""
    candidates = (session.folder, find_project(session.cwd))
    return list(dict.fromkeys(Path(folder) for folder in candidates if folder))


def _make_content(
    context: QueryContext, path: str, text: str, size: int
) -> AssetContent:
    redacted_text = context.redact(text)
    is_markdown = path.endswith(".md")
    html = (
        render_markdown_html(redacted_text, with_colours=True)
        if is_markdown
        else render_pre(redacted_text)
    )
    boxes: list[str] = _CHECKBOX.findall(redacted_text) if is_markdown else []
    name = path.rpartition("/")[2]
    return AssetContent(
        path=context.redact(path),
        title=(find_title(redacted_text) if is_markdown else "")
        or context.redact(name),
        html=html,
        size=size,
        is_cut=size > MAX_ASSET_BYTES,
        boxes=len(boxes),
        ticked=len(boxes) - boxes.count(" "),
    )
