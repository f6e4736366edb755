"""Define the interface of an agent's adapter."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from leslied.model.source import Root

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from leslied.model.imports import ImportedFile, ImportFile
    from leslied.model.record import DecodeResult, Record
    from leslied.model.session import LiveProcess, ProcessRegistry
    from leslied.model.source import Environment, Pattern, RawEntry, SourceRef
    from leslied.sessions.tools import ToolKind

Capability = Literal[
    "folder",
    "title",
    "model",
    "tokens",
    "thinking",
    "tools",
    "subagents",
    "turn end",
    "live",
]
"""A kind of information in an agent's files.

Each capability that an adapter declares appears in one of its fixtures.
"""


class AgentAdapter(Protocol):
    """An adapter for one agent: where it writes, and what an entry means.

    Contract tests check these rules on all adapters and fixtures: `decode` does no I/O
    and keeps no hidden state; the same entry always has the same ids; an unknown entry
    becomes a record of type `unknown`; a malformed one raises `DecodeError` and nothing
    else; unknown keys change nothing.
    """

    @property
    def name(self) -> str:
        """The agent's name in the config and the store, such as `claude-code`."""

    @property
    def title(self) -> str:
        """The agent's name for people, such as `Claude Code`."""

    @property
    def decoder_version(self) -> int:
        """Version of the decoder, stored with each record that it decoded.

        Increase it whenever `decode` returns something else for an entry. All sources
        that an older version read are then decoded again in the background.
        """

    @property
    def verified(self) -> str:
        """Newest version whose real logs were read, and when: `2.1.325, 2026-11`.

        Empty if the adapter was written from documents or source code alone.
        """

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The kinds of information that the agent's files contain."""

    @property
    def env_vars(self) -> tuple[str, ...]:
        """Environment variables that `roots` and `live_registries` read."""

    @property
    def tools(self) -> Mapping[str, ToolKind]:
        """Kinds of the agent's tools that the table in `sessions/tools.py` lacks."""

    @property
    def has_mutable_entries(self) -> bool:
        """True if an entry may appear again, changed, under the same id."""

    @property
    def project_log(self) -> str:
        """Name of the log that the agent keeps in each project; empty if it keeps none.

        Each project that contains such a log is a root, besides the usual ones. leslied
        knows the projects from the sessions of all agents.
        """

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the directories that the agent writes to.

        The `configured` directories, if any, replace the defaults.
        """

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one entry, and return the source's state for the next entry.

        `state` is the state that was returned for the source's previous entry. For the
        first entry, and for a document, it has only what leslied adds, such as the
        beginning of a side file (`Pattern.side_file`). In the returned state, `cwd` is
        the session's working directory; for an excluded project, only `cwd` is stored.
        """

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Split a file that a user imports into sources of this agent.

        Return nothing if the file is not in a format of this agent.
        """

    def erase_sessions(
        self, name: str, data: bytes, session_ids: Collection[str]
    ) -> bytes:
        """Return an imported document without the entries of these sessions.

        `data` is the document, and `name` the name of its file. Return no bytes if
        nothing else in the document can be kept. The entries of its other sessions must
        keep their ids.
        """

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return the files that name the agent's running processes, if any."""

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return the process that a file of a live registry names, or None."""

    @property
    def reports_activity(self) -> bool:
        """Whether the live registries say what the processes do."""

    @property
    def registered_entrypoints(self) -> frozenset[str]:
        """Values of `entrypoint` of sessions whose process is always in a registry.

        Such a session has stopped if its turn ended and no registry names it.
        """

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """Return the file with the full text of a tool result, or None.

        Some agents save a result in a separate file if it is too large for the log.
        """

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return the log of the session that a subagent's file belongs to.

        Return None for a main session's log, and for a file that states its own working
        directory. With `projects.exclude` set, the working directory in the main log
        decides whether the subagent's file is read.
        """

    def is_plan_file(self, path: str) -> bool:
        """Return whether the agent keeps a plan in the file with this path."""

    def resume_command(self, session_id: str) -> str:
        """Return the command that resumes a session; empty if there is none.

        The id comes from a log and is therefore quoted for the shell.
        """


class BaseAdapter:
    """Defaults for an agent whose logs are its only files."""

    verified = ""
    env_vars: tuple[str, ...] = ()
    tools: Mapping[str, ToolKind] = MappingProxyType({})
    has_mutable_entries = False
    registered_entrypoints: frozenset[str] = frozenset()
    reports_activity = False
    project_log = ""

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return nothing: only the agent's own folders are read."""
        del file
        return ()

    def erase_sessions(
        self, name: str, data: bytes, session_ids: Collection[str]
    ) -> bytes:
        """Return no bytes: a document has one session."""
        del name, data, session_ids
        return b""

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return nothing: the agent does not list its processes."""
        del env, configured
        return ()

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return None: there is nothing to parse."""
        del path, data
        return None

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """Return None: the log contains everything."""
        del record, source
        return None

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return None: every source states its own working directory."""
        del source
        return None

    def is_plan_file(self, path: str) -> bool:
        """Return False: plans are only in the log."""
        del path
        return False

    def resume_command(self, session_id: str) -> str:
        """Return no command: sessions cannot be resumed."""
        del session_id
        return ""


class ImportedAdapter(BaseAdapter):
    """Defaults for an agent whose sessions users import or keep in configured folders.

    No folder of the agent is read by default.
    """

    name: str
    patterns: tuple[Pattern, ...]
    # A later export of a session has more messages, and may have changed ones.
    has_mutable_entries = True

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the configured directories, and the one of the imported files."""
        imports = [env.imports / self.name] if env.imports else []
        for path in (*configured, *imports):
            yield Root(path=path, patterns=self.patterns)
