"""Whether a thread's assets are named so that people and agents find them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from leslied.threads.layout import ASSET_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.threads.assets import ScannedAsset, ScannedFile

_DATED = re.compile(r"(\d{8})(-(\d{4}))?(?:-(.*))?", re.DOTALL)
_ALWAYS_ALLOWED = ("README.md", "index.md")
"""Names that a folder may always hold."""
_ASSET_NAMES = {place for _, place in ASSET_PATHS}
_MAX_CHARACTERS = 50
_MIN_WORDS, _MAX_WORDS = 3, 6
_OTHER_FOLDERS = ("context", ".meta")


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing to mend."""

    path: str
    """Below the thread's folder."""
    rule: str
    message: str
    suggestion: str = ""
    """A name that would do."""


def lint_assets(
    assets: Sequence[ScannedAsset], names: Sequence[str]
) -> list[LintFinding]:
    """What is not as the guide wants it; `names` are all names in the folder."""
    told = [*_lint_thread(assets, names)]
    for asset in assets:
        if asset.is_folder and asset.type != "transcript":
            told += _lint_folder(asset)
    return told


def _lint_thread(
    assets: Sequence[ScannedAsset], names: Sequence[str]
) -> Iterator[LintFinding]:
    forms: dict[str, list[str]] = {}
    for asset in assets:
        forms.setdefault(asset.type, []).append(asset.relative_path)
    for places in forms.values():
        if len(places) > 1:
            message = f"{' and '.join(places)} both exist; keep one form"
            yield LintFinding(places[0], "one-form", message)
    for name in sorted(names):
        if name in _ASSET_NAMES or name in _OTHER_FOLDERS or name.startswith("."):
            continue
        better = _suggest_asset(name)
        message = "no asset has this name, so no agent is told of it"
        yield LintFinding(name, "unknown-name", message, better)


def _suggest_asset(name: str) -> str:
    """The asset that was probably meant."""
    stem = name.lower().partition(".")[0].rstrip("0123456789_- ")
    near = {stem, stem.rstrip("s"), stem + "s", stem.partition("-")[0]}
    near |= {stem.partition("_")[0], re.sub(r"^[\d_-]+", "", stem)}
    return next((place for kind, place in ASSET_PATHS if kind in near), "")


def _lint_folder(asset: ScannedAsset) -> Iterator[LintFinding]:
    if not asset.files:
        yield LintFinding(asset.relative_path, "empty", "the folder is empty")
    for file in asset.files:
        yield from _lint_name(asset, file)


def _lint_name(asset: ScannedAsset, file: ScannedFile) -> Iterator[LintFinding]:
    name = file.path.rpartition("/")[2]
    if name in _ALWAYS_ALLOWED:
        return
    path = file.path[file.path.index(asset.relative_path) :]
    stem, _, ending = name.rpartition(".")
    better = _suggest_name(stem or name, file)
    if ending != "md":
        yield LintFinding(path, "ending", "the name does not end in .md", better)
    dated = _DATED.fullmatch(stem)
    if dated is None or not _is_date(dated[1], dated[3]):
        message = "the name does not begin with a date, YYYYMMDD or YYYYMMDD-HHmm"
        yield LintFinding(path, "date", message, better)
        topic = stem
    else:
        topic = dated[4] or ""
    yield from _lint_topic(path, topic, better)


def _lint_topic(path: str, topic: str, suggestion: str) -> Iterator[LintFinding]:
    if not re.fullmatch(r"[^\W_A-Z]+(-[^\W_A-Z]+)*", topic) or topic != topic.lower():
        yield LintFinding(
            path, "kebab-case", "the topic is not lower-case-with-hyphens", suggestion
        )
        return
    words = topic.split("-")
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS and topic.isascii():
        message = f"the topic has {_pluralize_words(words)}; three to six tell it best"
        yield LintFinding(path, "words", message)
    if len(topic) > _MAX_CHARACTERS:
        message = f"the topic has {len(topic)} characters; at most 50 stay readable"
        yield LintFinding(path, "length", message, suggestion)


def _pluralize_words(words: list[str]) -> str:
    return "1 word" if len(words) == 1 else f"{len(words)} words"


def _suggest_name(stem: str, file: ScannedFile) -> str:
    """A name by the rules, made of the name there is."""
    dated = _DATED.fullmatch(stem)
    is_dated = dated is not None and _is_date(dated[1], dated[3])
    day = f"{dated[1]}{dated[2] or ''}" if dated and is_dated else file.updated_day
    topic = (dated[4] or "") if dated and is_dated else stem
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", topic).lower()
    words = re.sub(r"[\W_]+", "-", words).strip("-")
    while len(words) > _MAX_CHARACTERS and "-" in words:
        words = words.rpartition("-")[0]
    return f"{day}-{words[:_MAX_CHARACTERS] or 'topic'}.md"


def _is_date(day: str, time: str | None) -> bool:
    try:
        date(int(day[:4]), int(day[4:6]), int(day[6:]))
    except ValueError:
        return False
    return time is None or (int(time[:2]) < 24 and int(time[2:]) < 60)
