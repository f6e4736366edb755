"""What every command starts from: the places, the clock, the store."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.clock import Clock, SystemClock
from leslied.model.source import Environment
from leslied.paths import PLATFORM, Places, find_home, find_places, read_environ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import click

    from leslied.agents import AgentAdapter
    from leslied.config import Settings
    from leslied.model.source import Root
    from leslied.store import Reader


@dataclass(frozen=True, slots=True)
class Desk:
    """The machine as one command sees it."""

    environ: Mapping[str, str]
    places: Places
    clock: Clock

    @property
    def home(self) -> Path:
        """The home folder."""
        return find_home(self.environ)

    def open_reader(self) -> Reader:
        """A read-only look at the store."""
        from leslied.store import Reader  # noqa: PLC0415 - not every command looks

        return Reader(self.places.store_file)

    def load_settings(self) -> Settings:
        """The person's settings."""
        from leslied.agents import load_adapters  # noqa: PLC0415
        from leslied.config import load_settings  # noqa: PLC0415

        return load_settings(self.places.config_file, load_adapters())

    def agent_roots(
        self, settings: Settings
    ) -> Iterator[tuple[AgentAdapter, list[Root]]]:
        """Every agent with the folders it writes in."""
        from leslied.agents import load_adapters  # noqa: PLC0415

        env = Environment(home=self.home, environ=self.environ, platform=PLATFORM)
        for name, adapter in load_adapters().items():
            configured = [path.expanduser() for path in settings.agent(name).roots]
            yield adapter, list(adapter.roots(env, configured))


def sit_down(ctx: click.Context) -> Desk:
    """The desk of the running command."""
    environ = read_environ()
    places = find_places(environ, ctx.find_root().obj)
    return Desk(environ, places, SystemClock())


def make_exclude(settings: Settings, agent: str) -> Callable[[str], bool]:
    """Whether sessions in a folder keep no content."""
    if not settings.agent(agent).enabled:
        return lambda _: True
    globs = [str(Path(glob).expanduser()) for glob in settings.projects.exclude]

    def is_excluded(cwd: str) -> bool:
        return any(fnmatch(cwd, glob) or fnmatch(cwd, glob + "/*") for glob in globs)

    return is_excluded
