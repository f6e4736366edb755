"""Read exports of the Gemini app and of Google AI Studio that users import.

`docs/formats/gemini-app.md` documents the formats.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.model.imports import ImportedFile, make_import_name
from leslied.model.source import Pattern, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry


class GeminiApp(ImportedAdapter):
    """Adapter for the Gemini app and Google AI Studio."""

    name = "gemini-app"
    title = "Gemini app and AI Studio"
    decoder_version = 1
    patterns = (
        Pattern(glob="activity/*.json", shape=Shape.DOCUMENT),
        Pattern(glob="prompts/*.json", shape=Shape.DOCUMENT),
    )
    capabilities: frozenset[Capability] = frozenset(
        {"title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return the days of `MyActivity.json`, or a prompt of AI Studio."""
        if isinstance(file.document.get("chunkedPrompt"), dict):
            name = make_import_name(file.path.name.removesuffix(".json"), ".json")
            yield ImportedFile(f"prompts/{name}", file.data)
        elif _is_activity(file.first_object):
            days: defaultdict[str, list[bytes]] = defaultdict(list)
            for fields, data in file.list_objects():
                if _is_activity(fields):
                    days[str(fields.get("time", ""))[:10]].append(data)
            for day, items in days.items():
                # The newest activity comes first in the export.
                text = b'{"day":"%b","activities":[%b]}' % (
                    day.encode(errors="replace").replace(b'"', b"").replace(b"\\", b""),
                    b",".join(reversed(items)),
                )
                yield ImportedFile(f"activity/{make_import_name(day, '.json')}", text)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode the activities of a day, or a prompt of AI Studio."""
        from leslied.agents import _gemini_app_documents as documents  # noqa: PLC0415

        return documents.decode_document(entry, state)


def _is_activity(fields: dict[str, Any]) -> bool:
    return "Gemini Apps" in (fields.get("header"), *_list_products(fields))


def _list_products(fields: dict[str, Any]) -> list[Any]:
    products = fields.get("products")
    return products if isinstance(products, list) else []


ADAPTER: AgentAdapter = GeminiApp()
