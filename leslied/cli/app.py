"""What every command starts from: the places, the clock, the store."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING

from leslied.clock import Clock, SystemClock
from leslied.paths import (
    PLATFORM,
    AppPaths,
    get_home,
    get_paths,
    load_key,
    read_environ,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import click

    from leslied.agents import AgentAdapter
    from leslied.config import Settings
    from leslied.model.session import ProcessRegistry
    from leslied.model.source import Environment, Root
    from leslied.pipeline import (
        Archiver,
        AssetIndex,
        Exports,
        Ingest,
        Pipeline,
        RelationsSync,
        Settle,
    )
    from leslied.pipeline.progress import ProgressCallback
    from leslied.redact import Redactor
    from leslied.store import Store, StoreReader


@dataclass(frozen=True, slots=True)
class App:
    """The machine as one command sees it."""

    environ: Mapping[str, str]
    paths: AppPaths
    clock: Clock

    @property
    def home(self) -> Path:
        """The home folder."""
        return get_home(self.environ)

    @property
    def _environment(self) -> Environment:
        from leslied.model.source import Environment  # noqa: PLC0415

        return Environment(home=self.home, environ=self.environ, platform=PLATFORM)

    def redact(self, text: str) -> str:
        """The text as it may reach a terminal or a script: without definite secrets."""
        return _load_redactor(self.paths.key_file).redact(text)

    def open_reader(self) -> StoreReader:
        """A read-only look at the store."""
        from leslied.store import StoreReader  # noqa: PLC0415 - not every command looks

        return StoreReader(self.paths.store_file)

    def load_settings(self) -> Settings:
        """The person's settings."""
        from leslied.agents import load_adapters  # noqa: PLC0415
        from leslied.config import load_settings  # noqa: PLC0415

        return load_settings(self.paths.config_file, load_adapters())

    def iter_agent_roots(
        self, settings: Settings
    ) -> Iterator[tuple[AgentAdapter, list[Root]]]:
        """Every agent with the folders it writes in."""
        from leslied.agents import load_adapters  # noqa: PLC0415

        env = self._environment
        for name, adapter in load_adapters().items():
            configured = [path.expanduser() for path in settings.agent(name).roots]
            yield adapter, list(adapter.roots(env, configured))

    def list_registries(
        self, settings: Settings
    ) -> list[tuple[AgentAdapter, list[ProcessRegistry]]]:
        """Every agent with the files that name its live processes."""
        from leslied.agents import load_adapters  # noqa: PLC0415

        env = self._environment
        found = []
        for name, adapter in load_adapters().items():
            configured = [path.expanduser() for path in settings.agent(name).roots]
            found.append((adapter, list(adapter.live_registries(env, configured))))
        return found

    def make_pipeline(
        self,
        store: Store,
        reader: StoreReader,
        *,
        is_final: bool = False,
        is_light: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> Pipeline:
        """The daemon's work, as the settings want it now; `is_light` on memory."""
        from leslied.pipeline import HookEvents, Pipeline, StopDetection  # noqa: PLC0415
        from leslied.pipeline.failures import Failures  # noqa: PLC0415
        from leslied.pipeline.progress import ignore_progress  # noqa: PLC0415

        settings = self.load_settings()
        on_progress = on_progress or ignore_progress
        failures = Failures(store, self.clock, ignores_pauses=not is_light)
        ingests = [
            replace(each, is_final=is_final, failures=failures, on_progress=on_progress)
            for each in self._make_ingests(store, settings, is_light=is_light)
        ]
        stop_detection = StopDetection(
            store=store, registries=self.list_registries(settings)
        )
        hook_events = HookEvents(
            self.paths.data_dir, ingests, stop_detection, self.clock, failures
        )
        settle = replace(
            self._make_settle(store, reader, settings),
            live_sessions=stop_detection.live_sessions,
            is_final=is_final,
            failures=failures,
            on_progress=on_progress,
        )
        return Pipeline(
            ingests=ingests,
            hook_events=hook_events,
            stop_detection=stop_detection,
            settle=settle,
            relations_sync=self._make_relations_sync(settle, is_light=is_light),
            asset_index=self._make_asset_index(settle, settings),
            exports=self._make_exports(settle, settings),
            archiver=replace(
                self._make_archiver(store, settings),
                failures=failures,
                on_progress=on_progress,
            ),
            failures=failures,
        )

    def _make_ingests(
        self, store: Store, settings: Settings, *, is_light: bool
    ) -> Iterator[Ingest]:
        from leslied.pipeline import Ingest  # noqa: PLC0415
        from leslied.pipeline.batch import BATCH_WEIGHT, LIGHT_BATCH_WEIGHT  # noqa: PLC0415

        for adapter, roots in self.iter_agent_roots(settings):
            yield Ingest(
                adapter=adapter,
                store=store,
                roots=tuple(roots),
                is_excluded=make_exclude_predicate(settings, adapter.name),
                weight=LIGHT_BATCH_WEIGHT if is_light else BATCH_WEIGHT,
            )

    def _make_exports(self, settle: Settle, settings: Settings) -> Exports:
        from leslied.pipeline import Exports  # noqa: PLC0415

        return Exports(
            store=settle.store,
            reader=settle.reader,
            redact=settle.redact,
            clock=self.clock,
            formats=settings.output.formats,
            live_sessions=settle.live_sessions,
            failures=settle.failures,
        )

    def _make_relations_sync(self, settle: Settle, *, is_light: bool) -> RelationsSync:
        from leslied.pipeline.relations_sync import DAEMON_LOCK_WAITS, RelationsSync  # noqa: PLC0415
        from leslied.threads.relations_file import RETRY_DELAYS_SECONDS  # noqa: PLC0415

        return RelationsSync(
            store=settle.store,
            reader=settle.reader,
            redact=settle.redact,
            clock=self.clock,
            live_sessions=settle.live_sessions,
            failures=settle.failures,
            lock_waits=DAEMON_LOCK_WAITS if is_light else RETRY_DELAYS_SECONDS,
        )

    def _make_asset_index(self, settle: Settle, settings: Settings) -> AssetIndex:
        from leslied.pipeline import AssetIndex  # noqa: PLC0415

        found = list(self.iter_agent_roots(settings))
        return AssetIndex(
            store=settle.store,
            reader=settle.reader,
            redact=settle.redact,
            clock=self.clock,
            zone=settle.zone,
            agent_titles={adapter.name: adapter.title for adapter, _ in found},
            plan_folders=[r.path.parent / "plans" for _, roots in found for r in roots],
            live_sessions=settle.live_sessions,
            failures=settle.failures,
            on_progress=settle.on_progress,
        )

    def _make_archiver(self, store: Store, settings: Settings) -> Archiver:
        from leslied.pipeline import Archiver  # noqa: PLC0415

        roots = {a.name: tuple(found) for a, found in self.iter_agent_roots(settings)}
        excludes = {name: make_exclude_predicate(settings, name) for name in roots}
        return Archiver(
            store=store,
            archive_dir=self.paths.archive_dir,
            roots=roots,
            clock=self.clock,
            key_id=_load_redactor(self.paths.key_file).key_id,
            is_excluded=lambda agent, cwd: _is_kept_out(excludes[agent], cwd),
        )

    def _make_settle(
        self, store: Store, reader: StoreReader, settings: Settings
    ) -> Settle:
        from leslied.pipeline import Settle  # noqa: PLC0415
        from leslied.sinks import OutputPolicy  # noqa: PLC0415
        from leslied.sinks.leslie import TranscriptLimits  # noqa: PLC0415

        output = settings.output
        roots = [root for _, found in self.iter_agent_roots(settings) for root in found]
        policy = OutputPolicy(
            home=self.home,
            central=self.paths.central_dir,
            agent_folders=tuple(root.path.parent for root in roots),
            user=os.getuid(),
            is_central=output.location == "central",
        )
        return Settle(
            store=store,
            reader=reader,
            policy=policy,
            redact=_load_redactor(self.paths.key_file).redact,
            clock=self.clock,
            zone=UTC if output.timezone == "utc" else None,
            limits=TranscriptLimits(include_thinking=output.thinking),
            backfill=output.backfill,
        )


@cache
def _load_redactor(key_file: Path) -> Redactor:
    from leslied.redact import Redactor  # noqa: PLC0415

    return Redactor(load_key(key_file))


def get_app(ctx: click.Context) -> App:
    """The desk of the running command."""
    environ = read_environ()
    paths = get_paths(environ, ctx.find_root().obj)
    return App(environ, paths, SystemClock())


def make_exclude_predicate(
    settings: Settings, agent: str
) -> Callable[[str], bool] | None:
    """Return whether sessions in a folder keep no content; None if all may be kept."""
    from leslied.pipeline.exclude import make_folder_matcher  # noqa: PLC0415

    if not settings.agent(agent).enabled:
        return lambda _: True
    globs = settings.projects.exclude
    return make_folder_matcher(globs) if globs else None


def _is_kept_out(is_excluded: Callable[[str], bool] | None, cwd: str) -> bool:
    """Return whether a source is not archived: an unknown folder may be excluded."""
    return is_excluded is not None and (not cwd or is_excluded(cwd))
