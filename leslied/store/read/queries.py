"""Contract of a store that can be read; `StoreReader` is the one for SQLite.

`leslied.queries` is written against these protocols, so that another database can
answer the same questions. Sessions are named by their keys, entries by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from leslied.model.failure import Failure
    from leslied.model.project import ProjectFolder, Repository
    from leslied.model.query import Query, Selection
    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import SessionSummary, Unit
    from leslied.model.source import SourceProblem
    from leslied.model.stats import PriceBreaks, StoreGrouping, ToolCall, UsageBucket
    from leslied.sessions.subagents import SpawnLookup
    from leslied.store.read.file_queries import StoredChange
    from leslied.store.read.match_summary import MatchSummary
    from leslied.store.read.project_queries import FolderActivity, ThreadFolder
    from leslied.store.read.reading_queries import RawPosition
    from leslied.store.read.search import Match
    from leslied.store.read.session_index import SessionIndexRow
    from leslied.store.read.session_queries import SessionGroup
    from leslied.store.read.size_queries import SessionSource
    from leslied.store.read.unit_ids import UnitId
    from leslied.store.read.unknown_queries import UnknownRecord
    from leslied.store.read.usage_queries import UsageFilter


class StoreQueries(Protocol):
    """Questions about sessions, entries and the state of the store."""

    path: Path
    """The store's file."""

    @property
    def usage(self) -> UsageProtocol:
        """Queries over tokens and tool calls."""

    @property
    def change_feed(self) -> FeedProtocol:
        """Feed of new records and stopped sessions."""

    @property
    def files(self) -> FilesProtocol:
        """Queries over calls that change files."""

    @property
    def projects(self) -> ProjectsProtocol:
        """Queries over projects."""

    @property
    def reading(self) -> ReadingProtocol:
        """Queries for reading one session."""

    @property
    def session_index(self) -> SessionIndexProtocol:
        """Queries over all sessions at once."""

    @property
    def sizes(self) -> SizesProtocol:
        """Queries over sizes in bytes."""

    @property
    def titles(self) -> TitlesProtocol:
        """Queries over titles of sessions."""

    @property
    def unknown(self) -> UnknownProtocol:
        """Queries over entries of unknown kinds."""

    def __exit__(self, *_: object) -> None:
        """Close the store."""

    def select_sessions(self, selection: Selection) -> list[SessionGroup]:
        """Return the selected sessions, in the selected order."""

    def count_hidden_sessions(self, selection: Selection) -> int:
        """Return the number of sessions that match the filters and are hidden."""

    def list_sessions(
        self, groups: Sequence[SessionGroup] | None = None
    ) -> list[SessionSummary]:
        """List the sessions and subagents that have entries, last active first."""

    def find_session(self, key: SessionKey) -> SessionSummary | None:
        """Find a session or subagent; return None if it has no entries."""

    def list_subagents(self, key: SessionKey) -> list[SessionSummary]:
        """List the subagents with this session id, in the order they were read."""

    def list_children(self, parent: SessionSummary) -> list[SessionSummary]:
        """List the subagents of a session, also those with another session id."""

    def list_records(
        self,
        key: SessionKey,
        unit: int | None = None,
        *,
        with_sequence: bool = True,
        transform: Callable[[PlacedRecord], PlacedRecord] = lambda placed: placed,
    ) -> list[PlacedRecord]:
        """List the current records of a stream or unit, with sequence numbers.

        Without `with_sequence`, the numbers begin at 1 in each unit. `transform` is
        applied to each record before the next one is read.
        """

    def load_text(self, read_order: int, column: str) -> str:
        """Return a text of the current record of a placement."""

    def find_chat_id(self, key: SessionKey, unit: int) -> str:
        """Return the chat id of a unit, or "" if the unit has no visible entry."""

    def find_transcript_paths(self, key: SessionKey) -> dict[int, str]:
        """Return the paths of a stream's existing transcripts, by unit."""

    def add_transcript_paths(self, unit: Unit) -> Unit:
        """Return the unit and its subagents with the paths of their transcripts."""

    def search(
        self, query: Query, stop_cutoff_us: int = 0, *, is_substring: bool = False
    ) -> SearchProtocol:
        """Return a prepared search; its methods return matches."""

    def list_similar_ids(self, ids: Collection[str]) -> list[str]:
        """List ids of sessions and subagents that begin like one of these ids."""

    def find_sessions_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find streams by prefix of an id; return (key, thread id)."""

    def find_units_by_prefix(self, prefix: str) -> list[UnitId]:
        """Find units by prefix of their chat id; unit 0 is not searched."""

    def find_unit_zero_by_prefix(self, prefix: str) -> list[UnitId]:
        """Find subagents and units before the first prompt by chat id prefix."""

    def find_entries_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find entries by prefix of their id; return (key, entry id)."""

    def list_agent_names(self) -> list[str]:
        """List the agents that have sessions."""

    def summarize_agents(self) -> list[dict[str, Any]]:
        """Return one summary per agent: counts, source paths, times of activity."""

    def check_integrity(self) -> str:
        """Return descriptions of damage in one line, or "" if intact."""

    def count_rows(self) -> dict[str, int]:
        """Return the numbers of records, sessions, subagents, noise, rejections."""

    def list_rejected(self, limit: int) -> list[dict[str, Any]]:
        """List up to `limit` rejected entries with their position and the reason."""

    def list_source_problems(self) -> list[SourceProblem]:
        """List the existing sources that could not be read or are held back."""

    def list_failures(self) -> list[Failure]:
        """List work that failed unexpectedly and is tried again later."""


class UsageProtocol(Protocol):
    """Questions about usage, in which each message and each call counts once."""

    def group_usage(
        self,
        by: StoreGrouping,
        usage_filter: UsageFilter,
        price_breaks: PriceBreaks,
        *,
        with_sessions: bool,
    ) -> list[UsageBucket]:
        """Total the messages by group, model and price band."""

    def list_messages(self, usage_filter: UsageFilter) -> list[UsageBucket]:
        """List every message that has a time, the earliest first."""

    def list_owners(
        self, by: StoreGrouping, usage_filter: UsageFilter
    ) -> list[tuple[Any, tuple[str, str]]]:
        """List (group, (agent, session id)) for every stream with messages of a group.

        A session with several streams is listed several times.
        """

    def list_models(self) -> list[str]:
        """List every model that has messages."""

    def get_time_range(self) -> tuple[int, int]:
        """Return the times of the first and the last message; 0 if there is none."""

    def list_hidden_sessions(self) -> list[SessionGroup]:
        """List the sessions that are hidden."""

    def list_projects(self) -> dict[SessionKey, str]:
        """Return the project of every session and subagent."""

    def list_tool_calls(self, usage_filter: UsageFilter) -> list[ToolCall]:
        """List every tool call with its outcome."""


class FeedProtocol(Protocol):
    """Questions of somebody who follows all sessions."""

    def get_data_version(self) -> int:
        """Return a number that changes whenever the store does."""

    def get_newest_read_order(self) -> int:
        """Return the `read_order` of the newest record, or 0."""

    def list_after(self, read_order: int) -> list[PlacedRecord]:
        """Return the next batch of records after this `read_order`; [] at the end."""

    def list_changed_streams(self, read_order: int) -> list[SessionKey]:
        """List every session and subagent with a record after this `read_order`."""

    def list_last(
        self,
        count: int,
        types: Sequence[str],
        streams: Collection[SessionKey] | None = None,
    ) -> list[PlacedRecord]:
        """List the last `count` records of these types, in order."""

    def list_streams(self) -> list[SessionKey]:
        """List every session and subagent that has entries."""

    def get_sequence(self, placed: PlacedRecord) -> int:
        """Return the position of the record in its stream, counted from 1."""

    def list_stopped(self, since_us: int) -> list[tuple[SessionKey, int]]:
        """List (session, time at which it stopped) of sessions stopped after a time."""

    def list_waiting(self) -> list[tuple[SessionKey, str]]:
        """List (session, what it waits for) of sessions that wait for the user."""


class FilesProtocol(Protocol):
    """Questions about the changes that tool calls made to files."""

    def list_changes(self) -> list[StoredChange]:
        """List all changes, also failed ones: first by file tools, then by shells."""

    def load_calls(self, read_orders: Iterable[int]) -> dict[int, PlacedRecord]:
        """Return the calls at these positions, by `read_order`."""

    def find_prompt(self, read_order: int) -> str:
        """Return the start of the prompt that led to a call, or ""."""

    def find_result(self, call_id: str) -> str:
        """Return the start of the result of a call, or ""."""

    def find_entry_id(self, call_id: str) -> str:
        """Return the id of the entry that made a call, or ""."""


class ProjectsProtocol(Protocol):
    """Questions about projects."""

    def list_folders(self) -> list[FolderActivity]:
        """List the working directories of sessions, sorted by path."""

    def list_project_folders(self) -> list[ProjectFolder]:
        """List the working directories whose project is known; this is fast."""

    def list_repositories(self) -> list[Repository]:
        """List the known Git repositories, sorted by path."""

    def list_thread_folders(self) -> list[ThreadFolder]:
        """List the folders that hold threads of sessions, last active first."""


class ReadingProtocol(Protocol):
    """Questions of somebody who reads one session."""

    def list_heads(
        self,
        key: SessionKey,
        first_unit: int = 0,
        last_unit: int | None = None,
        limit: int = -1,
    ) -> list[PlacedRecord]:
        """List light copies of a stream's entries, in order, from a unit on.

        A negative limit means all entries.
        """

    def get_extent(self, key: SessionKey, unit: int | None) -> tuple[int, int]:
        """Return number and largest `read_order` of the entries of a unit or stream."""

    def list_entries(self, read_orders: Sequence[int]) -> list[PlacedRecord]:
        """List the entries with these `read_orders` in full, in order."""

    def find_entry(
        self, streams: Sequence[SessionKey], entry_id: str
    ) -> PlacedRecord | None:
        """Return an entry in the first of the streams that has it, or None."""

    def find_raw_position(self, placed: PlacedRecord) -> RawPosition:
        """Return where the bytes of an entry can be read."""

    def get_spawn_lookup(self, main: SessionSummary) -> SpawnLookup:
        """Return the facts that decide which unit spawned each subagent of `main`."""


class TitlesProtocol(Protocol):
    """Questions about titles of sessions."""

    def find(self, words: Sequence[str], limit: int) -> list[SessionGroup]:
        """Return the last active sessions that match all words.

        A word matches if the title or the name of the folder contains it, or if the
        session's id begins with it.
        """


class SessionIndexProtocol(Protocol):
    """Questions about all sessions at once, with few fields of each."""

    def list_sessions(self, stop_cutoff_us: int) -> list[SessionIndexRow]:
        """List all sessions, also hidden ones, last active first."""


class SizesProtocol(Protocol):
    """Questions about sizes in bytes; a session is named by agent and id."""

    def get_store_bytes_by_session(self) -> dict[tuple[str, str], int]:
        """Return each session's share of the store."""

    def get_archive_bytes_by_session(self) -> dict[tuple[str, str], int]:
        """Return the size of the archive files of each session's sources."""

    def get_archive_bytes(self) -> int:
        """Return the size of all archive files."""

    def get_archive_file_sizes(self) -> dict[str, int]:
        """Return the size of each archive file, by its path below the archive."""

    def get_used_bytes(self) -> int:
        """Return the size of the part of the store that is in use."""

    def get_table_bytes(self) -> dict[str, int]:
        """Return the size of every table and index; {} if it is unknown."""

    def list_sources(self, session: tuple[str, str]) -> list[SessionSource]:
        """List the sources of a session and its subagents."""

    def list_transcript_folders(self) -> list[bytes]:
        """List the project folders that contain transcripts."""


class UnknownProtocol(Protocol):
    """Questions about entries that no decoder knows."""

    def count(self) -> int:
        """Return the number of unknown records."""

    def list_newest(self, limit: int) -> list[UnknownRecord]:
        """List up to `limit` unknown records, the newest first."""

    def list_source_paths(self, limit: int) -> list[bytes]:
        """List sources with unknown or rejected entries, or that could not be read."""


class SearchProtocol(Protocol):
    """A prepared search."""

    is_truncated: bool
    """Whether there were too many matches to rank all of them."""
    is_stopped: bool
    """Whether a scan was stopped before it had found all matches."""

    @property
    def is_index_incomplete(self) -> bool:
        """Whether a first sync has not indexed its records yet."""

    def list_newest(self, limit: int) -> list[Match]:
        """Return the latest matching records."""

    def list_best(self, limit: int) -> list[Match]:
        """Return the most relevant records; the latest if the query has no words."""

    def scan(
        self, limit: int, should_stop: Callable[[], bool], *, by_rank: bool
    ) -> list[MatchSummary]:
        """Return matching records without their texts, until `should_stop`."""

    def load(self, summary: MatchSummary) -> Match:
        """Return the match of a summary from the last scan, with its text."""
