"""Composition root of the commands: paths, clock, settings, store and pipeline."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache, partial
from typing import TYPE_CHECKING, Any

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
        HookEvents,
        Ingest,
        Pipeline,
        RelationsSync,
        TranscriptStage,
    )
    from leslied.pipeline.maintenance.rebuild import Rebuild
    from leslied.pipeline.progress import ProgressCallback
    from leslied.redact import Redactor
    from leslied.store import Store, StoreReader


@dataclass(frozen=True, slots=True)
class App:
    """Environment, paths and clock of the running command.

    Its methods load the settings, open the store and build the pipeline.
    """

    environ: Mapping[str, str]
    paths: AppPaths
    clock: Clock

    @property
    def home(self) -> Path:
        """Return the home directory."""
        return get_home(self.environ)

    @property
    def _environment(self) -> Environment:
        from leslied.model.source import Environment  # noqa: PLC0415

        return Environment(home=self.home, environ=self.environ, platform=PLATFORM)

    def redact(self, text: str) -> str:
        """Return the text with recognized secrets replaced."""
        return _load_redactor(self.paths.key_file).redact(text)

    def open_reader(self) -> StoreReader:
        """Open the store read-only."""
        from leslied.store import StoreReader  # noqa: PLC0415 - not always needed

        return StoreReader(self.paths.store_file)

    def open_store(
        self, warn: Callable[[str], None], on_progress: ProgressCallback
    ) -> Store:
        """Open the store for writing; first rebuild one that cannot be migrated."""
        from leslied.pipeline.maintenance.rebuild import open_store  # noqa: PLC0415

        make_rebuild = partial(self.make_rebuild, on_progress)
        return open_store(self.paths.store_file, self.clock, make_rebuild, warn)

    def make_rebuild(self, on_progress: ProgressCallback) -> Rebuild:
        """Build the job that rebuilds the store."""
        from leslied.pipeline.maintenance.rebuild import Rebuild  # noqa: PLC0415

        settings = self.load_settings()
        agents = [(agent, tuple(r)) for agent, r in self.iter_agent_roots(settings)]
        names = [agent.name for agent, _ in agents]
        return Rebuild(
            path=self.paths.store_file,
            archive_dir=self.paths.archive_dir,
            agents=agents,
            clock=self.clock,
            excludes={name: make_exclude_predicate(settings, name) for name in names},
            key_id=_load_redactor(self.paths.key_file).key_id,
            on_progress=on_progress,
        )

    def load_settings(self) -> Settings:
        """Load and validate the user's settings."""
        from leslied.agents import load_adapters  # noqa: PLC0415
        from leslied.config import load_settings  # noqa: PLC0415

        return load_settings(self.paths.config_file, load_adapters())

    def iter_agent_roots(
        self, settings: Settings
    ) -> Iterator[tuple[AgentAdapter, list[Root]]]:
        """Yield every agent with the directories it writes logs to."""
        from leslied.agents import load_adapters  # noqa: PLC0415

        environment = self._environment
        for name, adapter in load_adapters().items():
            configured_roots = _list_configured_roots(settings, name)
            yield adapter, list(adapter.roots(environment, configured_roots))

    def list_registries(
        self, settings: Settings
    ) -> list[tuple[AgentAdapter, list[ProcessRegistry]]]:
        """Return every agent with the files that list its live processes."""
        from leslied.agents import load_adapters  # noqa: PLC0415

        environment = self._environment
        registries = []
        for name, adapter in load_adapters().items():
            configured_roots = _list_configured_roots(settings, name)
            registries.append(
                (adapter, list(adapter.live_registries(environment, configured_roots)))
            )
        return registries

    def make_pipeline(
        self,
        store: Store,
        reader: StoreReader,
        *,
        is_final: bool = False,
        is_light: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> Pipeline:
        """Build the pipeline from the current settings.

        With `is_final`, unfinished turns are settled too. With `is_light`, for the
        daemon: less memory, short waits for locks, and a pause before each retry.
        """
        from leslied.pipeline import HookEvents, StopDetection  # noqa: PLC0415
        from leslied.pipeline.failures import Failures  # noqa: PLC0415
        from leslied.pipeline.progress import ignore_progress  # noqa: PLC0415

        settings = self.load_settings()
        on_progress = on_progress or ignore_progress
        failures = Failures(store, self.clock, ignores_pauses=not is_light)
        shared_fields: dict[str, Any] = {"is_final": is_final, "failures": failures}
        ingests = [
            replace(ingest, **shared_fields, on_progress=on_progress)
            for ingest in self._make_ingests(store, settings, is_light=is_light)
        ]
        registries = self.list_registries(settings)
        stop_detection = StopDetection(store=store, registries=registries)
        hook_events = HookEvents(
            self.paths.data_dir, ingests, stop_detection, self.clock, failures
        )
        transcripts = replace(
            self._make_transcript_stage(store, reader, settings),
            live_sessions=stop_detection.live_sessions,
            on_progress=on_progress,
            **shared_fields,
        )
        return self._assemble_pipeline(
            hook_events, transcripts, settings, is_light=is_light
        )

    def _assemble_pipeline(
        self,
        hook_events: HookEvents,
        transcripts: TranscriptStage,
        settings: Settings,
        *,
        is_light: bool,
    ) -> Pipeline:
        """Build the pipeline from these stages; make the stages that follow them."""
        from leslied.pipeline import Pipeline  # noqa: PLC0415

        return Pipeline(
            ingests=hook_events.ingests,
            hook_events=hook_events,
            stop_detection=hook_events.stop_detection,
            transcripts=transcripts,
            relations_sync=self._make_relations_sync(transcripts, is_light=is_light),
            asset_index=self._make_asset_index(transcripts, settings),
            exports=self._make_exports(transcripts, settings),
            archiver=replace(
                self._make_archiver(transcripts.store, settings),
                failures=transcripts.failures,
                on_progress=transcripts.on_progress,
            ),
            failures=transcripts.failures,
        )

    def _make_ingests(
        self, store: Store, settings: Settings, *, is_light: bool
    ) -> Iterator[Ingest]:
        from leslied.pipeline import Ingest  # noqa: PLC0415
        from leslied.pipeline.ingest.batch import BATCH_WEIGHT, LIGHT_BATCH_WEIGHT  # noqa: PLC0415

        for adapter, roots in self.iter_agent_roots(settings):
            yield Ingest(
                adapter=adapter,
                store=store,
                roots=tuple(roots),
                is_excluded=make_exclude_predicate(settings, adapter.name),
                weight=LIGHT_BATCH_WEIGHT if is_light else BATCH_WEIGHT,
            )

    def _make_exports(
        self, transcripts: TranscriptStage, settings: Settings
    ) -> Exports:
        from leslied.pipeline import Exports  # noqa: PLC0415

        return Exports(
            store=transcripts.store,
            reader=transcripts.reader,
            redact=transcripts.redact,
            clock=self.clock,
            formats=settings.output.formats,
            live_sessions=transcripts.live_sessions,
            failures=transcripts.failures,
        )

    def _make_relations_sync(
        self, transcripts: TranscriptStage, *, is_light: bool
    ) -> RelationsSync:
        from leslied.pipeline.stages.relations import (  # noqa: PLC0415
            DAEMON_RETRY_DELAYS_SECONDS,
            RelationsSync,
        )
        from leslied.threads.relations_file import RETRY_DELAYS_SECONDS  # noqa: PLC0415

        return RelationsSync(
            store=transcripts.store,
            reader=transcripts.reader,
            redact=transcripts.redact,
            clock=self.clock,
            live_sessions=transcripts.live_sessions,
            failures=transcripts.failures,
            retry_delays=DAEMON_RETRY_DELAYS_SECONDS
            if is_light
            else RETRY_DELAYS_SECONDS,
        )

    def _make_asset_index(
        self, transcripts: TranscriptStage, settings: Settings
    ) -> AssetIndex:
        from leslied.pipeline import AssetIndex  # noqa: PLC0415

        agent_roots = list(self.iter_agent_roots(settings))
        return AssetIndex(
            store=transcripts.store,
            reader=transcripts.reader,
            redact=transcripts.redact,
            clock=self.clock,
            zone=transcripts.zone,
            agent_titles={adapter.name: adapter.title for adapter, _ in agent_roots},
            is_plan_file=lambda path: any(
                adapter.is_plan_file(path) for adapter, _ in agent_roots
            ),
            plan_folders=[
                root.path.parent / "plans" for _, roots in agent_roots for root in roots
            ],
            live_sessions=transcripts.live_sessions,
            failures=transcripts.failures,
            on_progress=transcripts.on_progress,
        )

    def _make_archiver(self, store: Store, settings: Settings) -> Archiver:
        from leslied.pipeline import Archiver  # noqa: PLC0415

        roots = {
            adapter.name: tuple(agent_roots)
            for adapter, agent_roots in self.iter_agent_roots(settings)
        }
        predicates = {name: make_exclude_predicate(settings, name) for name in roots}
        return Archiver(
            store=store,
            archive_dir=self.paths.archive_dir,
            roots=roots,
            clock=self.clock,
            key_id=_load_redactor(self.paths.key_file).key_id,
            is_excluded=lambda agent, cwd: _is_excluded_from_archive(
                predicates[agent], cwd
            ),
        )

    def _make_transcript_stage(
        self, store: Store, reader: StoreReader, settings: Settings
    ) -> TranscriptStage:
        from leslied.pipeline import TranscriptStage  # noqa: PLC0415
        from leslied.sinks import OutputPolicy  # noqa: PLC0415
        from leslied.sinks.leslie import TranscriptLimits  # noqa: PLC0415

        output = settings.output
        policy = OutputPolicy(
            home=self.home,
            central=self.paths.central_dir,
            agent_folders=tuple(
                root.path.parent
                for _, roots in self.iter_agent_roots(settings)
                for root in roots
            ),
            user=os.getuid(),
            is_central=output.location == "central",
        )
        return TranscriptStage(
            store=store,
            reader=reader,
            policy=policy,
            redact=_load_redactor(self.paths.key_file).redact,
            clock=self.clock,
            zone=UTC if output.timezone == "utc" else None,
            limits=TranscriptLimits(include_thinking=output.thinking),
            backfill=output.backfill,
        )


def _list_configured_roots(settings: Settings, agent: str) -> list[Path]:
    return [path.expanduser() for path in settings.agent(agent).roots]


@cache
def _load_redactor(key_file: Path) -> Redactor:
    from leslied.redact import Redactor  # noqa: PLC0415

    return Redactor(load_key(key_file))


def get_app(ctx: click.Context) -> App:
    """Return the app of the running command, honouring `--config`."""
    environ = read_environ()
    paths = get_paths(environ, ctx.find_root().obj)
    return App(environ, paths, SystemClock())


def make_exclude_predicate(
    settings: Settings, agent: str
) -> Callable[[str], bool] | None:
    """Return a function that tells whether a folder's sessions must not be stored.

    Return None if no folder is excluded. If the agent is disabled, all are excluded.
    """
    from leslied.pipeline.ingest.exclude import make_folder_matcher  # noqa: PLC0415

    if not settings.agent(agent).enabled:
        return lambda _: True
    globs = settings.projects.exclude
    return make_folder_matcher(globs) if globs else None


def _is_excluded_from_archive(
    is_excluded: Callable[[str], bool] | None, cwd: str
) -> bool:
    """Return whether a source of the folder `cwd` must not be archived.

    If folders are excluded, a source of an unknown folder is not archived either.
    """
    return is_excluded is not None and (not cwd or is_excluded(cwd))
