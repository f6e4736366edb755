"""Whether a thread's assets are named so that people and agents find them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from leslied.threads.layout import ASSET_PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.threads.assets import Found, FoundFile

_DATED = re.compile(r"(\d{8})(-(\d{4}))?(?:-(.*))?", re.DOTALL)
_WELCOME = ("README.md", "index.md")
"""Names that a folder may always hold."""
_NAMES = {place for _, place in ASSET_PLACES}
_MOST_CHARACTERS = 50
_FEWEST_WORDS, _MOST_WORDS = 3, 6
_KNOWN = ("context", ".meta")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend."""

    path: str
    """Below the thread's folder."""
    rule: str
    message: str
    better: str = ""
    """A name that would do."""


def lint_assets(found: Sequence[Found], names: Sequence[str]) -> list[Finding]:
    """What is not as the guide wants it; `names` are all names in the folder."""
    told = [*_lint_thread(found, names)]
    for asset in found:
        if asset.is_folder and asset.type != "transcript":
            told += _lint_folder(asset)
    return told


def _lint_thread(found: Sequence[Found], names: Sequence[str]) -> Iterator[Finding]:
    forms: dict[str, list[str]] = {}
    for asset in found:
        forms.setdefault(asset.type, []).append(asset.place)
    for places in forms.values():
        if len(places) > 1:
            message = f"{' and '.join(places)} both exist; keep one form"
            yield Finding(places[0], "one-form", message)
    for name in sorted(names):
        if name in _NAMES or name in _KNOWN or name.startswith("."):
            continue
        better = _find_place(name)
        message = "no asset has this name, so no agent is told of it"
        yield Finding(name, "unknown-name", message, better)


def _find_place(name: str) -> str:
    """The asset that was probably meant."""
    stem = name.lower().partition(".")[0].rstrip("0123456789_- ")
    near = {stem, stem.rstrip("s"), stem + "s", stem.partition("-")[0]}
    near |= {stem.partition("_")[0], re.sub(r"^[\d_-]+", "", stem)}
    return next((place for kind, place in ASSET_PLACES if kind in near), "")


def _lint_folder(asset: Found) -> Iterator[Finding]:
    if not asset.files:
        yield Finding(asset.place, "empty", "the folder is empty")
    for file in asset.files:
        yield from _lint_name(asset, file)


def _lint_name(asset: Found, file: FoundFile) -> Iterator[Finding]:
    name = file.path.rpartition("/")[2]
    if name in _WELCOME:
        return
    path = file.path[file.path.index(asset.place) :]
    stem, _, ending = name.rpartition(".")
    better = _mend(stem or name, file)
    if ending != "md":
        yield Finding(path, "ending", "the name does not end in .md", better)
    dated = _DATED.fullmatch(stem)
    if dated is None or not _is_date(dated[1], dated[3]):
        message = "the name does not begin with a date, YYYYMMDD or YYYYMMDD-HHmm"
        yield Finding(path, "date", message, better)
        topic = stem
    else:
        topic = dated[4] or ""
    yield from _lint_topic(path, topic, better)


def _lint_topic(path: str, topic: str, better: str) -> Iterator[Finding]:
    if not re.fullmatch(r"[^\W_A-Z]+(-[^\W_A-Z]+)*", topic) or topic != topic.lower():
        yield Finding(
            path, "kebab-case", "the topic is not lower-case-with-hyphens", better
        )
        return
    words = topic.split("-")
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS and topic.isascii():
        message = f"the topic has {_count(words)}; three to six tell it best"
        yield Finding(path, "words", message)
    if len(topic) > _MOST_CHARACTERS:
        message = f"the topic has {len(topic)} characters; at most 50 stay readable"
        yield Finding(path, "length", message, better)


def _count(words: list[str]) -> str:
    return "1 word" if len(words) == 1 else f"{len(words)} words"


def _mend(stem: str, file: FoundFile) -> str:
    """A name by the rules, made of the name there is."""
    dated = _DATED.fullmatch(stem)
    is_dated = dated is not None and _is_date(dated[1], dated[3])
    day = f"{dated[1]}{dated[2] or ''}" if dated and is_dated else file.day
    topic = (dated[4] or "") if dated and is_dated else stem
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", topic).lower()
    words = re.sub(r"[\W_]+", "-", words).strip("-")
    while len(words) > _MOST_CHARACTERS and "-" in words:
        words = words.rpartition("-")[0]
    return f"{day}-{words[:_MOST_CHARACTERS] or 'topic'}.md"


def _is_date(day: str, time: str | None) -> bool:
    try:
        date(int(day[:4]), int(day[4:6]), int(day[6:]))
    except ValueError:
        return False
    return time is None or (int(time[:2]) < 24 and int(time[2:]) < 60)
