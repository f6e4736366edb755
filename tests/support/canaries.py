"""Made-up secrets at every position of a session, and how to find them in output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import cycle
from random import Random
from typing import Any

from ahocorasick_rs import AhoCorasick, Implementation

from leslied.redact import load_finder
from tests.support.secret_samples import KINDS_OF_EVERY_SHAPE, SAMPLES, fill

_NEEDLE_LENGTH = 10
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_FIXED_KEYS = ("type", "role", "timestamp", "stop_reason", "subtype", "status")
"""Fields that decide what a line is; without their values it is not decoded."""
_MAX_NAME_LENGTH = 200
_MAX_TRIED_NAMES = 50


class Canaries:
    """Texts with secrets, and the parts of the secrets that no output may contain.

    The kinds of the secrets take turns.
    """

    def __init__(
        self, kinds: Iterable[str] = KINDS_OF_EVERY_SHAPE, seed: int = 14
    ) -> None:
        self._kinds = cycle(kinds)
        self._random = Random(seed)
        self.texts: dict[str, str] = {}
        self.positions: dict[str, str] = {}
        """For each part of a secret, its kind and position."""

    def mark(self, text: str, position: str) -> str:
        """Remember the secrets in a text that is written at a position."""
        for secret in load_finder().find(text):
            for run in _RUN.findall(secret.value) or [secret.value]:
                for part in (run[:_NEEDLE_LENGTH], run[-_NEEDLE_LENGTH:]):
                    if part not in SAMPLES[secret.kind]:
                        self.positions[part] = f"{secret.kind} at {position}"
        return text

    def use_kind(self, kind: str) -> None:
        """Put secrets of this kind only, and different ones from now on."""
        self._kinds = cycle([kind])
        self.texts = {}

    def put(self, text: str, position: str) -> str:
        """Return the text with a secret behind it; the same text for equal texts."""
        if text not in self.texts:
            secret = fill(SAMPLES[next(self._kinds)], self._random)
            self.texts[text] = self.mark(f"{text} {secret}", position)
        return self.texts[text]

    def put_in_name(self, text: str, position: str) -> str:
        """Return the text with a secret behind it that a file name can contain.

        Some kinds have no such secret, or it is none before a suffix: `token=a.b` is
        taken for a reference. Return the text without a secret if there are only such
        kinds.
        """
        for _ in range(_MAX_TRIED_NAMES):
            name = self.put(text, position)
            is_secret = bool(load_finder().find(f"/{name}.jsonl"))
            is_name = not re.search(r"[/\n]", name) and len(name) <= _MAX_NAME_LENGTH
            if is_secret and is_name:
                return name
            del self.texts[text]
        return text

    def put_everywhere(
        self, value: Any, fixed_keys: Iterable[str] = (), key: str = ""
    ) -> Any:
        """Return a JSON value with a secret behind each text.

        Equal texts stay equal, so that ids still refer to each other.
        """
        if isinstance(value, dict):
            return {
                name: self.put_everywhere(item, fixed_keys, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.put_everywhere(item, fixed_keys, key) for item in value]
        if isinstance(value, str) and key not in (*_FIXED_KEYS, *fixed_keys):
            return self.put(value, key)
        return value

    def make_search(self) -> Callable[[str], set[str]]:
        """Return a function that returns the kinds and positions of leaked secrets."""
        parts = list(self.positions)
        search = AhoCorasick(
            parts, implementation=Implementation.ContiguousNFA
        ).find_matches_as_indexes
        return lambda text: {self.positions[parts[i]] for i, _, _ in search(text)}
