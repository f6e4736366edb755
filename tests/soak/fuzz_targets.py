"""What is fuzzed: every agent's decoder, the transcript parser, and the round trip."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from leslied import tail
from leslied.agents import AgentAdapter, load_adapters
from leslied.errors import DecodeError
from leslied.model.source import Cursor, RawEntry
from leslied.pipeline.ingest.decode import Decoder
from leslied.sinks.leslie import parse_document
from tests.soak.mutate import mutate
from tests.support.golden import list_cases, list_roots
from tests.support.hostile_units import find_spoof, make_text

TRANSCRIPTS = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts"


class Seed(NamedTuple):
    """An entry of a fixture, and what was known before it."""

    entry: RawEntry
    state: dict[str, Any]


class Target(Protocol):
    """Something that must accept or refuse any input, and do nothing else."""

    def make_input(self, rng: Random, kept: list[bytes]) -> bytes:
        """Return an input; `kept` are earlier ones that showed something new."""

    def try_input(self, data: bytes) -> str:
        """Return what happened, in a few words; raise if it must not happen."""


class DecoderTarget:
    """The decoder of one agent, with entries of its fixtures."""

    def __init__(self, adapter: AgentAdapter) -> None:
        self._adapter = adapter
        self._seeds = list_seeds(adapter)

    def make_input(self, rng: Random, kept: list[bytes]) -> bytes:
        """Return a changed entry, after the number of the seed whose state it gets."""
        number = rng.randrange(len(self._seeds))
        data = self._seeds[number].entry.data
        if kept and rng.random() < 0.3:
            data = rng.choice(kept).partition(b"\n")[2]
        other = rng.choice(self._seeds).entry.data
        return b"%d\n" % number + mutate(rng, data, other)

    def try_input(self, data: bytes) -> str:
        """Decode the entry; salvage what is left of it if it is malformed."""
        number, _, line = data.partition(b"\n")
        seed = self._seeds[int(number) % len(self._seeds)]
        entry = msgspec.structs.replace(seed.entry, data=line)
        try:
            result = self._adapter.decode(entry, dict(seed.state))
        except DecodeError as error:
            self._salvage(entry, seed.state)
            return f"refused: {str(error).partition(':')[0][:60]}"
        _encode(result.state)
        for record in result.records:
            _encode(record)
        kinds = ",".join(f"{r.type}/{r.role}" for r in result.records[:3])
        return f"{kinds} {result.noise[:40]}"

    def _salvage(self, entry: RawEntry, state: dict[str, Any]) -> None:
        decoder = Decoder(self._adapter, tail.ReadLimits(), dict(state))
        decoder.add(entry)
        assert decoder.entries or decoder.noise or decoder.rejected


def _encode(value: Any) -> None:
    """Check that the value has a JSON form; the store replaces lone surrogates."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return


def list_seeds(adapter: AgentAdapter) -> list[Seed]:
    """Return the entries of all fixtures of an agent, in order."""
    seeds = []
    for case in list_cases(adapter):
        roots = list_roots(adapter, case / "home")
        for source in tail.discover(adapter.name, roots).sources:
            state: dict[str, Any] = {}
            for chunk in tail.read(source, Cursor(), tail.ReadLimits()):
                for entry in chunk.entries:
                    seeds.append(Seed(entry, state))
                    state = _find_next_state(adapter, entry, state)
    return seeds


def _find_next_state(
    adapter: AgentAdapter, entry: RawEntry, state: dict[str, Any]
) -> dict[str, Any]:
    try:
        return adapter.decode(entry, dict(state)).state
    except DecodeError:
        return state


class ParserTarget:
    """The parser of transcripts, with changed transcripts."""

    def __init__(self) -> None:
        self._seeds = [path.read_bytes() for path in sorted(TRANSCRIPTS.glob("*.txt"))]

    def make_input(self, rng: Random, kept: list[bytes]) -> bytes:
        """Return a changed transcript, or one with structural markers in it."""
        data = rng.choice(kept if kept and rng.random() < 0.3 else self._seeds)
        if rng.random() < 0.5:
            lines = data.split(b"\n")
            marker = make_text(rng).encode(errors="replace")
            lines.insert(rng.randrange(len(lines) + 1), marker)
            return b"\n".join(lines)
        return mutate(rng, data, rng.choice(self._seeds))

    def try_input(self, data: bytes) -> str:
        """Parse the text; only a ValueError is allowed."""
        try:
            document = parse_document(data.decode())
        except ValueError as error:
            # The rest of a message quotes the text.
            return f"refused: {' '.join(str(error).split()[:3])}"
        return ",".join(type(block).__name__ for block in document.blocks[:3])


class RoundTripTarget:
    """Transcripts of random hostile sessions, which must be read back unchanged."""

    def make_input(self, rng: Random, _: list[bytes]) -> bytes:
        """Return the seed of a session."""
        return str(rng.getrandbits(64)).encode()

    def try_input(self, data: bytes) -> str:
        """Render the session and parse its transcripts."""
        spoof = find_spoof(Random(data))
        assert not spoof, spoof
        return ""


@cache
def load_targets() -> dict[str, Target]:
    """Return all targets by name."""
    targets: dict[str, Target] = {
        f"decode {adapter.name}": DecoderTarget(adapter)
        for adapter in load_adapters().values()
    }
    targets["parse transcript"] = ParserTarget()
    targets["round trip"] = RoundTripTarget()
    return targets
