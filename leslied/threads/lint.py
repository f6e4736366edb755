"""Checks of a thread's asset names against the rules of the guide."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from leslied.layout import ASSET_PATHS, CONTEXT_FOLDER, META_FOLDER, split_thread_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.threads.assets import ScannedAsset, ScannedFile

_DATED_STEM = re.compile(r"(\d{8})(-(\d{4}))?(?:-(.*))?", re.DOTALL)
"""Groups: the day, the time with its hyphen, the time, the topic."""
_ALWAYS_ALLOWED = ("README.md", "index.md")
"""Names that are allowed in every asset folder."""
_ASSET_NAMES = {path for _, path in ASSET_PATHS}
_MAX_TOPIC_CHARACTERS = 50
_MIN_TOPIC_WORDS, _MAX_TOPIC_WORDS = 3, 6
_OTHER_FOLDERS = (CONTEXT_FOLDER, META_FOLDER)
"""Folders of a thread that are not assets."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One violation of the naming rules."""

    path: str
    """Path below the thread's folder."""
    rule: str
    message: str
    suggestion: str = ""
    """Name that follows the rules; empty if none can be derived."""


def lint_assets(
    assets: Sequence[ScannedAsset], names: Sequence[str]
) -> list[LintFinding]:
    """Return the violations; `names` are all names in the thread's folder."""
    findings = list(_lint_thread(assets, names))
    for asset in assets:
        if asset.is_folder and asset.type != "transcript":
            findings += _lint_folder(asset)
    return findings


def _lint_thread(
    assets: Sequence[ScannedAsset], names: Sequence[str]
) -> Iterator[LintFinding]:
    """Yield findings about assets that exist as file and folder, and unknown names."""
    paths_by_type: dict[str, list[str]] = {}
    for asset in assets:
        paths_by_type.setdefault(asset.type, []).append(asset.relative_path)
    for paths in paths_by_type.values():
        if len(paths) > 1:
            message = f"{' and '.join(paths)} both exist; keep one form"
            yield LintFinding(paths[0], "one-form", message)
    for name in sorted(names):
        if name in _ASSET_NAMES or name in _OTHER_FOLDERS or name.startswith("."):
            continue
        message = "this is not an asset name, so agents do not see it"
        yield LintFinding(name, "unknown-name", message, _suggest_asset(name))


def _suggest_asset(name: str) -> str:
    """Return the path of the asset that was probably meant, or an empty string."""
    stem = name.lower().partition(".")[0].rstrip("0123456789_- ")
    candidates = {stem, stem.rstrip("s"), stem + "s", stem.partition("-")[0]}
    candidates |= {stem.partition("_")[0], re.sub(r"^[\d_-]+", "", stem)}
    paths = (path for asset_type, path in ASSET_PATHS if asset_type in candidates)
    return next(paths, "")


def _lint_folder(asset: ScannedAsset) -> Iterator[LintFinding]:
    if not asset.files:
        yield LintFinding(asset.relative_path, "empty", "the folder is empty")
    for file in asset.files:
        yield from _lint_name(file)


def _lint_name(file: ScannedFile) -> Iterator[LintFinding]:
    """Yield findings about the name of a file in an asset's folder."""
    name = file.path.rpartition("/")[2]
    if name in _ALWAYS_ALLOWED:
        return
    # A finding names the path in the thread's folder.
    _, path = split_thread_path(file.path)
    stem, _, ending = name.rpartition(".")
    suggestion = _suggest_name(stem or name, file)
    if ending != "md":
        yield LintFinding(path, "ending", "the name does not end in .md", suggestion)
    date_match = _match_date(stem)
    if date_match is None:
        message = "the name does not begin with a date, YYYYMMDD or YYYYMMDD-HHmm"
        yield LintFinding(path, "date", message, suggestion)
        topic = stem
    else:
        topic = date_match[4] or ""
    yield from _lint_topic(path, topic, suggestion)


def _lint_topic(path: str, topic: str, suggestion: str) -> Iterator[LintFinding]:
    if not re.fullmatch(r"[^\W_A-Z]+(-[^\W_A-Z]+)*", topic) or topic != topic.lower():
        yield LintFinding(
            path, "kebab-case", "the topic is not lower-case-with-hyphens", suggestion
        )
        return
    words = topic.split("-")
    # Not every script separates words, so only ASCII topics are counted.
    if not _MIN_TOPIC_WORDS <= len(words) <= _MAX_TOPIC_WORDS and topic.isascii():
        message = f"the topic has {_format_word_count(words)}; use three to six"
        yield LintFinding(path, "words", message)
    if len(topic) > _MAX_TOPIC_CHARACTERS:
        message = f"the topic has {len(topic)} characters; use at most 50"
        yield LintFinding(path, "length", message, suggestion)


def _format_word_count(words: list[str]) -> str:
    return "1 word" if len(words) == 1 else f"{len(words)} words"


def _suggest_name(stem: str, file: ScannedFile) -> str:
    """Derive a name that follows the rules from the stem of the current name.

    A name without a date gets the day of the file's last write.
    """
    date_match = _match_date(stem)
    if date_match:
        date_prefix = f"{date_match[1]}{date_match[2] or ''}"
        topic = date_match[4] or ""
    else:
        date_prefix, topic = file.updated_day, stem
    topic = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", topic).lower()
    topic = re.sub(r"[\W_]+", "-", topic).strip("-")
    while len(topic) > _MAX_TOPIC_CHARACTERS and "-" in topic:
        topic = topic.rpartition("-")[0]
    return f"{date_prefix}-{topic[:_MAX_TOPIC_CHARACTERS] or 'topic'}.md"


def _match_date(stem: str) -> re.Match[str] | None:
    """Return the match of `_DATED_STEM`; None if the stem has no valid date."""
    match = _DATED_STEM.fullmatch(stem)
    return match if match and _is_date(match[1], match[3]) else None


def _is_date(day: str, time: str | None) -> bool:
    """Return whether YYYYMMDD is a day and HHmm, if given, a time."""
    try:
        date(int(day[:4]), int(day[4:6]), int(day[6:]))
    except ValueError:
        return False
    return time is None or (int(time[:2]) < 24 and int(time[2:]) < 60)
