"""What leslied asks of an agent's adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from leslied.model.record import DecodeResult, Record
    from leslied.model.session import LiveProcess, ProcessRegistry
    from leslied.model.source import Environment, RawEntry, Root, SourceRef

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
"""What an agent's files can tell: each one declared is seen in a fixture."""


class AgentAdapter(Protocol):
    """Two answers: where does it write, and what does one entry mean.

    Laws, tested over all adapters and fixtures: `decode` does no I/O and keeps no
    secret state; the same entry gives the same ids for ever; an unknown entry becomes
    a record of type `unknown`; a senseless one raises `DecodeError` and nothing else;
    keys nobody knows change nothing.
    """

    @property
    def name(self) -> str:
        """The config key and the stored value: `claude-code`."""

    @property
    def title(self) -> str:
        """The name people use: `Claude Code`."""

    @property
    def decoder_version(self) -> int:
        """Raised when decode gives better records: older ones may be made anew."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What its files can tell."""

    @property
    def env_vars(self) -> tuple[str, ...]:
        """Environment variables that `roots` and `alive` look at."""

    @property
    def has_mutable_entries(self) -> bool:
        """Whether an entry may come again, changed, under the id it had."""

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Where the agent writes; `configured` replaces the usual places."""

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """What one entry means; `state` is what earlier entries left to remember.

        The state's `cwd` is the folder the session works in: of an excluded project
        that is all that is remembered.
        """

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Files that name the agent's live processes; none for most."""

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """What such a file says; None where it says nothing."""

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """The file that holds a tool result too large for the log."""

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return the log of the session that a subagent's file belongs to.

        None for a source that is a session of its own or names its own folder. While
        projects are excluded, the folder in that log decides about this source.
        """

    def resume_command(self, session_id: str) -> str:
        """What to type to go on with a session; empty where that is not possible.

        The id comes from a log: it is quoted for a shell.
        """


class BaseAdapter:
    """The answers of an agent that has nothing more to say than its logs do."""

    env_vars: tuple[str, ...] = ()
    has_mutable_entries = False

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """No file names its processes."""
        del env, configured
        return ()

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Nothing to parse."""
        del path, data
        return None

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """Everything stands in the log."""
        del record, source
        return None

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return None: every source names its own folder."""
        del source
        return None

    def resume_command(self, session_id: str) -> str:
        """It cannot go on."""
        del session_id
        return ""
