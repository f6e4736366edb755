"""Generate the logs that `make bench` measures with, the same bytes each time.

    python -m tests.bench.corpora NAME FOLDER

Claude Code's corpora are config folders (they contain `projects`); `mixed` is a home
with the logs of six agents. A `manifest.json` says what a corpus contains: sizes,
counts and token totals. Everything is invented: the shapes follow the formats of the
agents, the words are made up. Known answers: `quokkaphylax` is in exactly three prompts
of a corpus with three sessions or more, `handler` is in most long texts.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random

from tests.bench import claude_corpus, mixed_corpus
from tests.bench.claude_corpus import Conversation, Text, draw_size, make_uuid

MEGABYTE = 1_000_000
PROJECTS = 40
START = datetime(2026, 5, 1)  # noqa: DTZ001 - the zone is written beside it
DAYS = 180
SEED = 1
SUBAGENT_INTERVAL = 7
"""One of so many small sessions has a subagent."""


class CorpusWriter:
    """Write logs below a folder and count what was written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()

    def write(self, name: str, conversation: Conversation) -> None:
        """Write a log that was last changed when its session ended."""
        path = self.folder / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(conversation.lines)
        path.write_bytes(data)
        os.utime(path, (conversation.end_time, conversation.end_time))
        self.counts["files"] += 1
        self.counts["lines"] += len(conversation.lines)
        self.counts["bytes"] += len(data)
        self.counts.update(conversation.usage)


def write_sessions(
    writer: CorpusWriter, *, megabytes: float = 0, sessions: int = 0
) -> None:
    """Write sessions up to a size, or a number of small ones."""
    text, is_small = load_text(), bool(sessions)
    rng = Random(SEED)
    projects = [text.words(rng, 2).replace(" ", "-") for _ in range(PROJECTS)]
    while writer.counts["bytes"] < megabytes * MEGABYTE or (
        writer.counts["sessions"] < sessions
    ):
        number = writer.counts["sessions"]
        project = projects[number % PROJECTS]
        lines = rng.randint(3, 8) if is_small else draw_size(rng, 20, 2_000)
        if is_small:
            subagents = int(number % SUBAGENT_INTERVAL == 0)
        else:
            subagents = rng.choice((0, 0, 1, 2, 4)) if lines > 60 else 0
        conversation = Conversation(
            text,
            make_uuid(rng),
            f"/home/dev/src/{project}",
            START + timedelta(seconds=rng.randrange(DAYS * 86_400)),
            is_small=is_small,
            first_word=claude_corpus.RARE_WORD if number < 3 else "",
        )
        conversation.add_turns(lines, subagents)
        folder = "-home-dev-src-" + project.replace("_", "-")
        write_conversation(writer, folder, conversation)


def write_conversation(
    writer: CorpusWriter, folder: str, conversation: Conversation
) -> None:
    """Write the log of a session and those of its subagents."""
    name = f"{folder}/{conversation.session_id}"
    writer.write(f"{name}.jsonl", conversation)
    writer.counts["sessions"] += 1
    for subagent in conversation.subagents:
        agent_id = subagent.agent_id
        writer.write(f"{name}/subagents/agent-{agent_id}.jsonl", subagent)
        writer.counts["subagents"] += 1


def write_long_session(writer: CorpusWriter, megabytes: float) -> None:
    """Write one session of this size."""
    rng = Random(SEED)
    conversation = Conversation(load_text(), make_uuid(rng), "/home/dev/long", START)
    while conversation.size < megabytes * MEGABYTE:
        conversation.add_turns(len(conversation.lines) + 100, 0)
    write_conversation(writer, "-home-dev-long", conversation)


def write_long_lines(writer: CorpusWriter, megabytes: float) -> None:
    """Write ten sessions of lines of 1 MB: tool results in several scripts."""
    rng, text = Random(SEED), load_text()
    for _ in range(10):
        conversation = Conversation(text, make_uuid(rng), "/home/dev/wide", START)
        while conversation.size < megabytes * MEGABYTE / 10:
            conversation.add_long_turn(MEGABYTE)
        write_conversation(writer, "-home-dev-wide", conversation)


@cache
def load_text() -> Text:
    """Return the source of words, which is costly to make."""
    return Text(Random(SEED))


@dataclass(frozen=True, slots=True)
class Corpus:
    """How a corpus is written, in full and for a quick bench."""

    about: str
    write: Callable[[CorpusWriter, float], None]
    amount: float
    quick_amount: float


CORPORA = {
    "100mb": Corpus(
        "sessions of 20 to 2,000 lines",
        lambda writer, amount: write_sessions(writer, megabytes=amount),
        100,
        10,
    ),
    "1gb": Corpus(
        "sessions of 20 to 2,000 lines",
        lambda writer, amount: write_sessions(writer, megabytes=amount),
        1_000,
        30,
    ),
    "small": Corpus(
        "sessions of 3 to 8 short lines",
        lambda writer, amount: write_sessions(writer, sessions=int(amount)),
        17_500,
        1_000,
    ),
    "long": Corpus("one session", write_long_session, 500, 50),
    "wide": Corpus("lines of 1 MB", write_long_lines, 100, 20),
    "mixed": Corpus(
        "sessions of six agents",
        lambda writer, amount: mixed_corpus.write_home(
            writer.folder, int(amount), writer.counts
        ),
        500,
        30,
    ),
}


def get_corpus(name: str, cache_folder: Path, *, is_quick: bool = False) -> Path:
    """Return the folder of a corpus; write it if it is not there."""
    corpus = CORPORA[name]
    amount = corpus.quick_amount if is_quick else corpus.amount
    folder = cache_folder / f"{name}-{amount:g}-{_hash_generator()}"
    if not (folder / "manifest.json").exists():
        for old_version in cache_folder.glob(f"{name}-{amount:g}-*"):
            shutil.rmtree(old_version)
        folder.mkdir(parents=True)
        write_corpus(name, folder, amount)
    return folder


def write_corpus(name: str, folder: Path, amount: float) -> None:
    """Write a corpus; its manifest comes last, when everything else is there."""
    writer = CorpusWriter(folder)
    CORPORA[name].write(writer, amount)
    manifest = {"name": name, "about": CORPORA[name].about, **writer.counts}
    text = json.dumps(manifest, indent=1) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def load_manifest(folder: Path) -> dict[str, int]:
    """Return what a corpus contains."""
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def read_all(folder: Path) -> None:
    """Read all files once, so that they are in the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(MEGABYTE):
                    pass


@cache
def _hash_generator() -> str:
    """Return a name for this version of the generator."""
    paths = (Path(module.__file__) for module in (claude_corpus, mixed_corpus))
    code = b"".join(path.read_bytes() for path in (Path(__file__), *paths))
    return hashlib.sha256(code).hexdigest()[:8]


if __name__ == "__main__":
    write_corpus(sys.argv[1], Path(sys.argv[2]), CORPORA[sys.argv[1]].amount)
