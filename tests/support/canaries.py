"""Made-up secrets at every position of a session, and how to find them in output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from ahocorasick_rs import AhoCorasick

from leslied.redact import load_finder
from tests.support.secret_samples import SAMPLES, fill

_NEEDLE_LENGTH = 10
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_FIXED_KEYS = ("type", "role", "timestamp")
"""Fields that decide what a line is; without their values it is not decoded."""


class Canaries:
    """Texts with a secret, and the parts of the secrets that no output may contain."""

    def __init__(self, seed: int = 14) -> None:
        self._random = Random(seed)
        self._texts: dict[tuple[str, str], str] = {}
        self.needles: dict[str, str] = {}
        """For each part of a secret, its kind and position."""

    def make(self, kind: str) -> str:
        """Return a new secret of a kind, with the context that it needs."""
        return fill(SAMPLES[kind], self._random)

    def add(self, text: str, position: str) -> str:
        """Remember the secrets in a text that is written at a position."""
        for secret in load_finder().find(text):
            runs = _RUN.findall(secret.value) or [secret.value]
            for run in runs:
                for needle in (run[:_NEEDLE_LENGTH], run[-_NEEDLE_LENGTH:]):
                    self.needles[needle] = f"{secret.kind} at {position}"
        return text

    def put_everywhere(
        self, value: Any, kind: str, fixed_keys: Iterable[str] = (), key: str = ""
    ) -> Any:
        """Return a JSON value with a secret of the kind behind each text.

        Equal texts stay equal, so that ids still refer to each other.
        """
        if isinstance(value, dict):
            return {
                name: self.put_everywhere(item, kind, fixed_keys, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.put_everywhere(item, kind, fixed_keys, key) for item in value]
        if isinstance(value, str) and key not in (*_FIXED_KEYS, *fixed_keys):
            return self.put_behind(value, kind, key)
        return value

    def put_behind(self, text: str, kind: str, position: str) -> str:
        """Return the text with a secret behind it, always the same one."""
        if (text, kind) not in self._texts:
            combined = f"{text} {self.make(kind)}"
            self._texts[text, kind] = self.add(combined, position)
        return self._texts[text, kind]

    def make_search(self) -> Callable[[str], set[str]]:
        """Return a function that returns the kinds and positions of leaked secrets."""
        needles = list(self.needles)
        search = AhoCorasick(needles).find_matches_as_indexes
        return lambda text: {self.needles[needles[i]] for i, _, _ in search(text)}
