"""Where the store contains secrets; the answer contains none of them."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from leslied.model.codec import encode_time
from leslied.model.field import TEXT_OR_NULL, TIME_OR_NULL, Field, encode_fields
from leslied.model.times import to_us
from leslied.redact.session import iter_entry_texts, iter_summary_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.queries.context import QueryContext
    from leslied.redact import Redactor
    from leslied.redact.rules import Tier


class StoredSecret(Struct, frozen=True, kw_only=True):
    """One place in the store that contains a secret."""

    kind: str
    tier: Tier
    marker: str
    key: SessionKey
    entry_id: str
    """The entry's id; empty if the secret is in the summary of the session."""
    field: str
    at: datetime | None
    chat_id: str = ""
    transcript: str = ""
    """Path of the unit's transcript; empty if there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return encode_fields(SECRET_FIELDS, self)


SECRET_FIELDS = (
    Field("kind", "the kind of secret", lambda secret: secret.kind),
    Field("tier", "`definite` or `contextual`", lambda secret: secret.tier),
    Field("marker", "what outputs show instead", lambda secret: secret.marker),
    Field("session_id", "the session's id", lambda secret: secret.key.session_id),
    Field(
        "source",
        "`main`, or `subagent:` and the subagent's id",
        lambda secret: secret.key.source,
    ),
    Field("agent", "the agent's name", lambda secret: secret.key.agent),
    Field("chat_id", "the unit's id", lambda s: s.chat_id or None, TEXT_OR_NULL),
    Field("entry_id", "the entry's id", lambda s: s.entry_id or None, TEXT_OR_NULL),
    Field("field", "the field that contains it", lambda secret: secret.field),
    Field("at", "the time in the log", lambda s: s.at, TIME_OR_NULL, encode_time),
    Field(
        "transcript",
        "the path of the unit's transcript",
        lambda secret: secret.transcript or None,
        TEXT_OR_NULL,
    ),
)
"""The fields of a secret in the store."""


class SecretScan(Struct, frozen=True):
    """The newest places with secrets, and the number of all places by kind."""

    secrets: tuple[StoredSecret, ...]
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """Number of all places."""
        return sum(self.counts.values())

    @property
    def has_more(self) -> bool:
        """Whether the limit left out places."""
        return self.total > len(self.secrets)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "secrets": [secret.to_dict() for secret in self.secrets],
            "counts": self.counts,
            "total": self.total,
            "has_more": self.has_more,
        }


class _Place(NamedTuple):
    """A secret, and what is needed to sort it and to look up its unit."""

    time_us: int
    order: int
    """`read_order` of the entry; 0 for the session itself."""
    secret: StoredSecret
    unit: int | None = None


def scan_secrets(
    context: QueryContext, redactor: Redactor, since_us: int | None, limit: int
) -> SecretScan:
    """Return the newest `limit` places with secrets since a time.

    The whole store is read, with one batch of entries in memory at a time.
    """
    counts: Counter[str] = Counter()
    places = _count_kinds(_Scan(context, redactor, since_us or 0).iter_places(), counts)
    newest_places = nlargest(limit, places, key=lambda each: (each.time_us, each.order))
    secrets = tuple(_add_unit(context, place) for place in newest_places)
    return SecretScan(secrets, dict(counts.most_common()))


def _count_kinds(places: Iterable[_Place], counts: Counter[str]) -> Iterator[_Place]:
    """Yield the places, and add their number by kind to `counts`."""
    for place in places:
        counts[place.secret.kind] += 1
        yield place


def _add_unit(context: QueryContext, place: _Place) -> StoredSecret:
    """Return the secret with its chat id and transcript."""
    secret, unit, key = place.secret, place.unit, place.secret.key
    redacted_secret = structs.replace(secret, key=context.redact_key(key))
    if unit is None:
        return redacted_secret
    path = context.reader.find_transcript_paths(key).get(unit, "")
    return structs.replace(
        redacted_secret,
        chat_id=context.reader.find_chat_id(key, unit),
        transcript=context.redact(path),
    )


class _Scan:
    """One pass over the store."""

    def __init__(
        self, context: QueryContext, redactor: Redactor, since_us: int
    ) -> None:
        self._reader = context.reader
        self._redactor = redactor
        self._since_us = since_us
        self._paths: set[str] = set()
        """Paths of logs that were searched already; each is searched once."""

    def iter_places(self) -> Iterator[_Place]:
        """Yield every place with a secret, once for each field and secret."""
        for summary in self._reader.list_sessions():
            at = summary.ended_at or summary.seen_at
            time_us = to_us(at) if at else 0
            if time_us >= self._since_us:
                for secret in self._find(iter_summary_texts(summary), summary.key, at):
                    yield _Place(time_us, 0, secret)
        read_order = 0
        while batch := self._reader.change_feed.list_after(read_order):
            for placed in batch:
                yield from self._iter_entry_places(placed)
            read_order = batch[-1].read_order

    def _iter_entry_places(self, placed: PlacedRecord) -> Iterator[_Place]:
        """Yield the places in an entry; search the path of each log only once."""
        at = placed.record.created_at or placed.observed_at
        time_us = to_us(at)
        if time_us < self._since_us:
            return
        texts = (
            (name, text)
            for name, text in iter_entry_texts(placed)
            if name != "path" or text not in self._paths
        )
        for secret in self._find(texts, placed.record.session, at, placed.entry_id):
            yield _Place(time_us, placed.read_order, secret, placed.unit)
        self._paths.add(placed.path)

    def _find(
        self,
        texts: Iterable[tuple[str, str]],
        key: SessionKey,
        at: datetime | None,
        entry_id: str = "",
    ) -> Iterator[StoredSecret]:
        """Yield each secret in the texts, once for each field.

        `texts` are pairs of the name of a field and its text. `key`, `at` and
        `entry_id` only describe where the texts are from.
        """
        yielded_pairs: set[tuple[str, str]] = set()
        for field, text in texts:
            for secret in self._redactor.find(text):
                marker = self._redactor.make_marker(secret)
                if (field, marker) in yielded_pairs:
                    continue
                yielded_pairs.add((field, marker))
                yield StoredSecret(
                    kind=secret.kind,
                    tier="definite" if secret.is_definite else "contextual",
                    marker=marker,
                    key=key,
                    entry_id=entry_id,
                    field=field,
                    at=at,
                )
