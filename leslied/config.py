"""The config file: TOML in, frozen settings out. The only reader of user options.

The settings are plain dataclasses and pydantic checks a file against them, so that a
program without a config file never pays for loading pydantic.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path  # noqa: TC003 - pydantic reads the types
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from leslied.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STRICT: Mapping[str, str] = {"extra": "forbid"}


ExportFormat = Literal[
    "markdown", "html", "json", "jsonl", "devflow", "chibi", "weakincentives", "atif"
]


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One agent."""

    __pydantic_config__: ClassVar = _STRICT
    enabled: bool = True
    roots: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Which projects are kept out."""

    __pydantic_config__: ClassVar = _STRICT
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Transcripts."""

    __pydantic_config__: ClassVar = _STRICT
    location: Literal["project", "central"] = "project"
    backfill: Literal["central", "project", "none"] = "central"
    timezone: Literal["local", "utc"] = "local"
    thinking: bool = False
    formats: tuple[ExportFormat, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The store."""

    __pydantic_config__: ClassVar = _STRICT
    warn_bytes: int = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can choose."""

    __pydantic_config__: ClassVar = _STRICT
    agents: dict[str, AgentSettings] = field(default_factory=dict)
    projects: ProjectSettings = field(default_factory=ProjectSettings)
    output: OutputSettings = field(default_factory=OutputSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

    def agent(self, name: str) -> AgentSettings:
        """The agent's settings, or the usual ones."""
        return self.agents.get(name, AgentSettings())


def load_settings(path: Path, agents: Iterable[str]) -> Settings:
    """The settings in the file, checked; the usual ones where there is no file."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is no file.", f"Remove it: {path}")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.", f"Check the file: {path}"
        ) from error
    settings = _validate(_parse(text, path), text, path)
    _reject_relative_paths(settings, text, path)
    for name in settings.agents:
        if name not in set(agents):
            raise _make_unknown_key_error(f"agents.{name}", name, agents, text, path)
    return settings


def _reject_relative_paths(settings: Settings, text: str, path: Path) -> None:
    """A folder that is meant must be told whole: half of one would match nothing."""
    told = [("exclude", each) for each in settings.projects.exclude]
    told += [("roots", str(r)) for a in settings.agents.values() for r in a.roots]
    for key, folder in told:
        if not folder.startswith(("/", "~")):
            raise ConfigError(
                f"{path}{_format_line_number(key, text)}: {key}: {folder!r} is no whole path.",
                "Let it begin with / or ~",
            )


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path} is not TOML: {error}.", f"Mend that line in {path}"
        ) from error


def _validate(data: dict[str, Any], text: str, path: Path) -> Settings:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - 150 ms

    try:
        return TypeAdapter(Settings).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = [str(part) for part in first["loc"]]
        if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            raise _make_unknown_key_error(
                ".".join(where), where[-1], _list_valid_keys(where), text, path
            ) from error
        raise ConfigError(
            f"{path}{_format_line_number(where[-1], text)}: {'.'.join(where)}: {first['msg']}.",
            "Every key and its default is in config.example.toml",
        ) from error


def _make_unknown_key_error(
    key: str, name: str, valid_keys: Iterable[str], text: str, path: Path
) -> ConfigError:
    near = difflib.get_close_matches(name, list(valid_keys), 1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return ConfigError(
        f"{path}{_format_line_number(name, text)}: unknown key {key!r}.{guess}",
        "Every key and its default is in config.example.toml",
    )


def _list_valid_keys(where: list[str]) -> list[str]:
    """The keys that may stand where an unknown one stood."""
    tables: Mapping[str, Any] = {
        "agents": AgentSettings,
        "projects": ProjectSettings,
        "output": OutputSettings,
        "store": StoreSettings,
    }
    table = tables.get(where[0], Settings) if len(where) > 1 else Settings
    return [field.name for field in fields(table)]


def _format_line_number(word: str, text: str) -> str:
    """`, line N` where the word stands as a key or table."""
    pattern = re.compile(
        rf"^[ \t]*(\[.*)?\"?{re.escape(word)}\"?[ \t]*[=\].]", re.MULTILINE
    )
    found = pattern.search(text)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""
