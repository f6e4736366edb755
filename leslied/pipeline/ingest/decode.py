"""Decode entries to records. No other module calls an adapter's `decode`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied import tail
from leslied.errors import DecodeError, describe_cause
from leslied.model.decoded_chunk import DecodedEntry
from leslied.model.source import EXCLUDED, Noise, RawEntry, Rejection
from leslied.tail.salvage import salvage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.agents import AgentAdapter
    from leslied.model.record import DecodeResult, Record

    Mask = Callable[[bytes], bytes]
    """Replaces the secrets in a line or document by as many other bytes."""

_NO_FOLDER = "the entry names no folder, and projects.exclude is set"


class Decoder:
    """Decoder of one chunk: every entry becomes records, noise or a rejection."""

    def __init__(
        self,
        adapter: AgentAdapter,
        limits: tail.ReadLimits,
        state: dict[str, Any],
        mask: Mask | None = None,
    ) -> None:
        """Start at this state; `mask` replaces the secrets in entries and spills."""
        self._adapter = adapter
        self._limits = limits
        self._mask = mask
        self.state = state
        self.entries: list[DecodedEntry] = []
        self.noise: list[Noise] = []
        self.rejected: list[Rejection] = []
        self.folders: dict[str, None] = {state["cwd"]: None} if state.get("cwd") else {}
        """Every folder named so far, in order (a dict used as an ordered set)."""
        self._entry_folders: list[str] = []
        """The working directory of each entry in `entries`."""

    def add(self, entry: RawEntry) -> None:
        """Decode an entry; salvage the complete objects of a damaged one."""
        if self._mask:
            entry = structs.replace(entry, data=self._mask(entry.data))
        reason = self._decode(entry)
        if reason is None:
            return
        if not entry.is_complete:
            self._reject(entry.offset, entry.data, f"incomplete last line: {reason}")
            return
        salvaged = salvage(entry.data)
        undecodable = []
        for position, data in salvaged.pieces:
            offset = entry.offset + position
            piece = RawEntry(entry.source, offset, data, is_fragment=True)
            if self._decode(piece) is not None:
                undecodable.append((position, len(data)))
        if len(undecodable) == len(salvaged.pieces):
            self._reject(entry.offset, entry.data, reason)
            return
        for position, length in sorted([*undecodable, *salvaged.gaps]):
            data = entry.data[position : position + length]
            self._reject(entry.offset + position, data, f"torn: {reason}")

    def add_rejected(self, rejected: Iterable[Rejection]) -> None:
        """Add entries that were rejected before decoding.

        Drop their text if secrets are masked: only its start was read, and may end
        inside a secret, which the mask would not recognise.
        """
        self.rejected += (
            structs.replace(each, head=b"") if self._mask else each for each in rejected
        )

    def drop_content(self) -> None:
        """Replace all content with positions and lengths: the project is excluded."""
        self.noise += [Noise(e.offset, e.length, EXCLUDED) for e in self.entries]
        self.entries = []
        self._drop_rejected_text()
        self.state = {"cwd": self.state.get("cwd", "")}

    def drop_excluded(self, is_excluded: Callable[[str], bool]) -> None:
        """Drop entries of excluded folders from a source that many sessions share.

        An entry without a folder cannot be held back, because the cursor advances for
        all sessions. It is rejected, so that `status` counts it.
        """
        # A rejected entry has no known folder, so it may belong to an excluded one.
        self._drop_rejected_text()
        entries, self.entries = self.entries, []
        for entry, cwd in zip(entries, self._entry_folders, strict=True):
            if not cwd:
                self._add_rejection(
                    Rejection(entry.offset, entry.length, _NO_FOLDER, b"", b"")
                )
            elif is_excluded(cwd):
                self.noise.append(Noise(entry.offset, entry.length, EXCLUDED))
            else:
                self.entries.append(entry)

    def _drop_rejected_text(self) -> None:
        """Delete the text of rejected entries, and quotations of it in their reasons.

        A reason quotes text only after a colon.
        """
        self.rejected = [
            structs.replace(r, reason=r.reason.partition(":")[0], head=b"")
            for r in self.rejected
        ]

    def _decode(self, entry: RawEntry) -> str | None:
        """Decode an entry; return the reason if that failed, else None."""
        try:
            decoded = self._adapter.decode(entry, self.state)
        except DecodeError as error:
            return error.message
        except Exception as error:  # noqa: BLE001 - costs one entry, not the source
            return f"the adapter failed: {describe_cause(error)}"
        self.state = decoded.state
        if decoded.cwd:
            self.folders[decoded.cwd] = None
        if decoded.noise:
            self.noise.append(Noise(entry.offset, entry.length, decoded.noise))
        if decoded.records:
            self._add_records(entry, decoded)
        return None

    def _add_records(self, entry: RawEntry, decoded: DecodeResult) -> None:
        """Add the entry with its records; hash the line if a record has no id."""
        records, has_spill, needs_digest = decoded.records, False, False
        for record in records:
            has_spill = has_spill or "spill" in record.metadata
            needs_digest = needs_digest or not record.native_id
        if has_spill:
            records = tuple(self._load_spill(record, entry) for record in records)
        digest = hashlib.sha256(entry.data).digest() if needs_digest else b""
        self._entry_folders.append(decoded.cwd)
        self.entries.append(
            DecodedEntry(entry.offset, entry.length, records, digest, entry.is_complete)
        )

    def _load_spill(self, record: Record, entry: RawEntry) -> Record:
        """Return the record with the text of its spill, if that can be read."""
        if "spill" not in record.metadata:
            return record
        path = self._adapter.find_spill_file(record, entry.source)
        text = tail.read_spill(path, entry.source.root, self._limits) if path else ""
        text = mask_text(text, self._mask)
        return structs.replace(record, spilled=text) if text else record

    def _reject(self, offset: int, data: bytes, reason: str) -> None:
        digest = hashlib.sha256(data).digest()[:16]
        head = data[: self._limits.head]
        self._add_rejection(Rejection(offset, len(data), reason, digest, head))

    def _add_rejection(self, rejection: Rejection) -> None:
        """Add a rejection; after many, extend the last one instead."""
        if len(self.rejected) < self._limits.rejections:
            self.rejected.append(rejection)
            return
        last = self.rejected[-1]
        times = last.times + 1
        self.rejected[-1] = Rejection(
            offset=last.offset,
            length=rejection.offset + rejection.length - last.offset,
            reason=f"{times} entries could not be decoded",
            digest=b"",
            head=b"",
            times=times,
        )


def mask_text(text: str, mask: Mask | None) -> str:
    """Return the text with its secrets replaced, if there is a mask."""
    if mask is None:
        return text
    return mask(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")
