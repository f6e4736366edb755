"""The config file: the settings, their defaults, and loading them from TOML.

The settings are plain dataclasses, so that pydantic, which is slow to import, is needed
only to validate an existing file.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path  # noqa: TC003 - pydantic reads the types
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from leslied.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leslied.redact import SecretFinder

_FORBID_UNKNOWN_KEYS: Mapping[str, str] = {"extra": "forbid"}

_RULE_DEPTH = 4
"""Number of parts in a rule's key, such as `redact.rules.<name>.pattern`."""

ExportFormat = Literal[
    "markdown", "html", "json", "jsonl", "devflow", "chibi", "weakincentives", "atif"
]


_MAX_BYTES = 1_000_000
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Settings of one agent."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    enabled: bool = True
    """Whether to store content; if not, only cursors and counts are stored."""
    roots: tuple[Path, ...] = ()
    """Folders to read instead of the agent's default folders; empty to read those."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Projects that leslied ignores."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    exclude: tuple[str, ...] = ()
    """Globs of the folders whose sessions are not stored."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Settings of transcripts and exports."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    location: Literal["project", "central"] = "project"
    backfill: Literal["central", "project", "none"] = "central"
    """Where to write the transcripts of sessions that are older than the store."""
    timezone: Literal["local", "utc"] = "local"
    thinking: bool = False
    """Whether transcripts include the agent's thinking."""
    formats: tuple[ExportFormat, ...] = ()
    """Formats in which every stopped session is exported."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings of the store."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    warn_bytes: int = 5_000_000_000
    """Size of the store above which `leslied status` warns."""


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """A kind of secret that is not built in."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    pattern: str
    """Regular expression whose matches begin with an anchor. The group `secret` is
    replaced or, without such a group, the whole match."""
    anchors: tuple[str, ...]
    """Texts that a match may begin with, in any case."""


@dataclass(frozen=True, slots=True)
class RedactSettings:
    """Kinds of secrets besides the built-in ones, and exceptions."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    allow: tuple[str, ...] = ()
    """Regular expressions; a secret that one of them matches entirely is kept."""
    rules: dict[str, RuleSettings] = field(default_factory=dict)
    """Kinds of secrets by name; the name is shown in the marker."""
    store: bool = False
    """Whether to replace secrets before they enter the store and the archive."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The page that the daemon serves on this machine."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    enabled: bool = False
    """Whether the daemon serves the page."""
    port: int = 7373
    """Port on the loopback interface, of the daemon and of `leslied web`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings that a user can change."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    agents: dict[str, AgentSettings] = field(default_factory=dict)
    projects: ProjectSettings = field(default_factory=ProjectSettings)
    output: OutputSettings = field(default_factory=OutputSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    redact: RedactSettings = field(default_factory=RedactSettings)
    web: WebSettings = field(default_factory=WebSettings)

    def agent(self, name: str) -> AgentSettings:
        """Return the agent's settings, or the defaults."""
        return self.agents.get(name, AgentSettings())

    def to_dict(self, agents: Iterable[str]) -> dict[str, Any]:
        """Return all settings by table; `agents` are the names of agents to include."""
        return asdict(self) | {"agents": {n: asdict(self.agent(n)) for n in agents}}


def load_settings(path: Path, agents: Iterable[str]) -> Settings:
    """Load the settings; return the defaults without a file.

    `agents` are the names of supported agents. Raises ConfigError, which names the line
    if possible.
    """
    text = _read_text(path)
    if not text:
        return Settings()
    settings = _validate(_parse_toml(text, path), text, path)
    _reject_relative_paths(settings, text, path)
    _reject_invalid_port(settings.web.port, text, path)
    # Called only for the errors that it raises.
    _make_finder(settings.redact, text, path)
    for name in settings.agents:
        if name not in set(agents):
            raise _make_unknown_key_error(f"agents.{name}", name, agents, text, path)
    return settings


def load_secret_finder(path: Path) -> SecretFinder | None:
    """Return the finder of secrets that the settings describe, or None for the default.

    Only the table `redact` is validated, because commands that only read the store
    need no other table.
    Raise ConfigError as `load_settings` does.
    """
    text = _read_text(path)
    tables = _parse_toml(text, path) if text else {}
    if "redact" not in tables:
        return None
    settings = _validate({"redact": tables["redact"]}, text, path)
    return _make_finder(settings.redact, text, path)


def _read_text(path: Path) -> str:
    """Return the text of the file, empty if there is none."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is not a file.", "Name a file: --config PATH")
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(
                f"{path} is larger than {_MAX_BYTES:,} bytes.",
                f"Check the file: {path}",
            )
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.", f"Check the file: {path}"
        ) from error


def _make_finder(
    settings: RedactSettings, text: str, path: Path
) -> SecretFinder | None:
    """Return the finder of secrets, or None if no rule or exception is set.

    Raise ConfigError if a rule or exception cannot be used.
    """
    if not settings.allow and not settings.rules:
        return None
    # Imported late because few users have rules of their own.
    from leslied.redact import RULES, SecretFinder  # noqa: PLC0415
    from leslied.redact.custom_rules import (  # noqa: PLC0415
        compile_exception,
        make_custom_rule,
    )

    setting = "allow"  # the one being read, for the error
    rules = []
    try:
        allow = [compile_exception(pattern) for pattern in settings.allow]
        for kind, rule in settings.rules.items():
            setting = f"rules.{kind}"
            rules.append(make_custom_rule(kind, rule.pattern, rule.anchors))
    except ValueError as error:
        line = _format_line_number(setting.removeprefix("rules."), text)
        raise ConfigError(
            f"{path}{line}: redact.{setting}: {error}.",
            "docs/redaction.md describes rules and exceptions.",
        ) from error
    return SecretFinder((*RULES, *rules), allow)


def _reject_relative_paths(settings: Settings, text: str, path: Path) -> None:
    """Raise ConfigError for a relative folder, which would never match anything."""
    folders = [("exclude", folder) for folder in settings.projects.exclude]
    for agent in settings.agents.values():
        folders += [("roots", str(root)) for root in agent.roots]
    for key, folder in folders:
        if not folder.startswith(("/", "~")):
            line = _format_line_number(key, text)
            raise ConfigError(
                f"{path}{line}: {key}: {folder!r} is not an absolute path.",
                "Start the path with / or ~",
            )


def _reject_invalid_port(port: int, text: str, path: Path) -> None:
    if not 0 < port <= _MAX_PORT:
        line = _format_line_number("port", text)
        raise ConfigError(
            f"{path}{line}: web.port: {port} is not a port.",
            f"Choose a number from 1024 to {_MAX_PORT}.",
        )


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse the text of the file; raise ConfigError if it is not TOML."""
    import tomllib  # noqa: PLC0415 - most users have no config file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", f"Correct that line in {path}"
        ) from error


def _validate(data: dict[str, Any], text: str, path: Path) -> Settings:
    """Return the data as settings; raise ConfigError for the first error in it."""
    # The import takes 150 ms.
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    try:
        return TypeAdapter(Settings).validate_python(data)
    except ValidationError as error:
        first_error = error.errors()[0]
        location = [str(part) for part in first_error["loc"]]
        key = ".".join(location)
        if first_error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            raise _make_unknown_key_error(
                key, location[-1], _list_valid_keys(location), text, path
            ) from error
        line = _format_line_number(location[-1], text)
        raise ConfigError(
            f"{path}{line}: {key}: {first_error['msg']}.",
            "config.example.toml lists every key and its default.",
        ) from error


def _make_unknown_key_error(
    key: str, name: str, valid_keys: Iterable[str], text: str, path: Path
) -> ConfigError:
    """Return the error for an unknown key; `name` is the last part of the key."""
    import difflib  # noqa: PLC0415 - only for the error

    matches = difflib.get_close_matches(name, list(valid_keys), 1)
    suggestion = f" Did you mean {matches[0]!r}?" if matches else ""
    return ConfigError(
        f"{path}{_format_line_number(name, text)}: unknown key {key!r}.{suggestion}",
        "config.example.toml lists every key and its default.",
    )


def _list_valid_keys(location: list[str]) -> list[str]:
    """Return the keys that are valid in the table that contains an unknown key.

    `location` is the unknown key, split into its parts.
    """
    settings_classes: Mapping[str, Any] = {
        "agents": AgentSettings,
        "projects": ProjectSettings,
        "output": OutputSettings,
        "store": StoreSettings,
        "redact": RedactSettings if len(location) < _RULE_DEPTH else RuleSettings,
        "web": WebSettings,
    }
    if len(location) > 1:
        settings_class = settings_classes.get(location[0], Settings)
    else:
        settings_class = Settings
    return [field.name for field in fields(settings_class)]


def _format_line_number(key: str, text: str) -> str:
    """Return `, line N` for the first line with the key or table, empty if none."""
    pattern = re.compile(
        rf"^[ \t]*(\[.*)?\"?{re.escape(key)}\"?[ \t]*[=\].]", re.MULTILINE
    )
    match = pattern.search(text)
    return f", line {text.count(chr(10), 0, match.start()) + 1}" if match else ""
