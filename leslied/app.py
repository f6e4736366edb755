"""Composition root of the commands: paths, clock, settings, store and flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leslied.clock import Clock, SystemClock
from leslied.errors import LesliedError, SchemaMismatch, StoreLost
from leslied.folders import trust_folder
from leslied.paths import (
    PLATFORM,
    AppPaths,
    get_home,
    get_paths,
    load_key,
    read_environ,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import click

    from leslied.agents import AgentAdapter
    from leslied.annotations import Annotations
    from leslied.config import Settings
    from leslied.model.format_sample import SampledSource
    from leslied.model.session import ProcessRegistry
    from leslied.model.source import Environment, Root
    from leslied.pipeline import Flow
    from leslied.pipeline.failures import Failures
    from leslied.pipeline.maintenance.log_proof import LogProof
    from leslied.pipeline.maintenance.rebuild import Rebuild
    from leslied.pipeline.progress import ProgressCallback
    from leslied.queries.context import QueryContext
    from leslied.queries.scripts import ScriptQueries
    from leslied.redact import Redactor, SecretFinder
    from leslied.store import Store, StoreReader


class App:
    """Environment, paths and clock of the running command.

    Its methods load the settings, open the store and make the flow.
    """

    def __init__(
        self, environ: Mapping[str, str], paths: AppPaths, clock: Clock
    ) -> None:
        self.environ, self.paths, self.clock = environ, paths, clock

    @property
    def home(self) -> Path:
        """Return the home directory."""
        return get_home(self.environ)

    @property
    def _environment(self) -> Environment:
        from leslied.model.source import Environment  # noqa: PLC0415

        return Environment(
            home=self.home,
            environ=self.environ,
            platform=PLATFORM,
            imports=self.paths.imports_dir,
        )

    def load_redactor(self) -> Redactor:
        """Return the redactor that the settings describe; create its key if missing.

        Raise ConfigError if the settings of redaction are invalid.
        """
        from leslied.redact import Redactor  # noqa: PLC0415

        return Redactor(load_key(self.paths.key_file), self._load_secret_finder())

    def _load_secret_finder(self) -> SecretFinder | None:
        """Return the configured finder of secrets, or None for the default one."""
        try:
            self.paths.config_file.lstat()
        except FileNotFoundError:
            return None
        except OSError:
            pass  # Loading the file below says what is wrong with it.
        from leslied.config import load_secret_finder  # noqa: PLC0415

        return load_secret_finder(self.paths.config_file)

    def load_redact(self) -> Callable[[str], str]:
        """Return the function that replaces the secrets in a text."""
        return self.load_redactor().redact

    def open_reader(self) -> StoreReader:
        """Open the store read-only."""
        from leslied.store import StoreReader  # noqa: PLC0415 - not always needed

        return StoreReader(self.paths.store_file)

    def open_annotations(self) -> Annotations:
        """Return the user's annotations; their file is opened on first use."""
        from leslied.annotations import Annotations  # noqa: PLC0415

        return Annotations(self.paths.annotations_file)

    def open_queries(self, *, reveal: bool = False) -> QueryContext:
        """Return the context that every query gets as its first argument.

        The store is opened on first use. Answers contain no secrets, unless `reveal` is
        set.
        """
        from leslied.queries.context import QueryContext  # noqa: PLC0415

        # This registers the tools that only one agent has, so that answers can
        # describe their calls.
        self.load_adapters()
        return QueryContext(
            open_reader=self.open_reader,
            clock=self.clock,
            load_redact=None if reveal else self.load_redact,
            paths=self.paths,
            home=self.home,
            list_agent_roots=lambda: list(self.iter_agent_roots(self.load_settings())),
        )

    def open_sql(self, *, reveal: bool = False) -> ScriptQueries:
        """Open the store for SQL; secrets are removed unless `reveal` is set."""
        from leslied.queries.scripts import ScriptQueries  # noqa: PLC0415

        load_redact = None if reveal else self.load_redact
        return ScriptQueries(self.paths.store_file, self.clock, load_redact)

    def open_writer(self) -> Store:
        """Open the store for writing; raise StoreUnusable if it needs a rebuild."""
        from leslied.store import Store  # noqa: PLC0415 - not always needed

        if self.is_store_lost():
            raise StoreLost(
                f"The store {self.paths.store_file} is gone or empty, but its archive "
                "is not.",
                "Restore it from the archive and the logs: leslied rebuild",
            )
        return Store(self.paths.store_file, self.clock)

    def open_store(
        self, warn: Callable[[str], None], on_progress: ProgressCallback
    ) -> Store:
        """Open the store for writing.

        Rebuild it first if it is lost or cannot be migrated; call `warn` with the
        reason.
        """
        try:
            return self.open_writer()
        except SchemaMismatch as error:
            self.make_rebuild(on_progress).replace_unusable(error, warn)
        except StoreLost as error:
            self.make_rebuild(on_progress).replace_lost(error, warn)
        return self.open_writer()

    def is_first_run(self) -> bool:
        """Return whether nothing was ever stored."""
        return not self.paths.store_file.exists() and not self.is_store_lost()

    def is_store_lost(self) -> bool:
        """Return whether the store is gone or empty although there is an archive."""
        path = self.paths.store_file
        if path.exists() and path.stat().st_size:
            return False
        from leslied import archive  # noqa: PLC0415 - rarely needed

        return archive.has_manifest(self.paths.archive_dir)

    def make_rebuild(self, on_progress: ProgressCallback) -> Rebuild:
        """Build the job that rebuilds the store."""
        from leslied.pipeline.ingest.exclude import make_exclude_predicate  # noqa: PLC0415
        from leslied.pipeline.maintenance.rebuild import Rebuild  # noqa: PLC0415

        settings, redactor = self.load_settings(), self.load_redactor()
        agents = [
            (adapter, tuple(roots))
            for adapter, roots in self.iter_agent_roots(settings)
        ]
        names = [adapter.name for adapter, _ in agents]
        return Rebuild(
            path=self.paths.store_file,
            archive_dir=self.paths.archive_dir,
            agents=agents,
            clock=self.clock,
            excludes={name: make_exclude_predicate(settings, name) for name in names},
            key_id=redactor.key_id,
            mask=redactor.mask if settings.redact.store else None,
            on_progress=on_progress,
        )

    def make_log_proof(
        self,
        reader: StoreReader,
        on_progress: ProgressCallback,
        agent: str = "",
        *,
        is_daemon_running: bool,
    ) -> LogProof:
        """Build the comparison of all logs, or those of one agent, with the store."""
        from leslied.model.times import to_us  # noqa: PLC0415
        from leslied.pipeline.ingest.exclude import make_exclude_predicate  # noqa: PLC0415
        from leslied.pipeline.maintenance.log_proof import LogProof  # noqa: PLC0415

        settings, redactor = self.load_settings(), self.load_redactor()
        agents = [
            (adapter, roots)
            for adapter, roots in self.iter_agent_roots(settings)
            if agent in ("", adapter.name)
        ]
        return LogProof(
            reader=reader,
            agents=agents,
            excludes={
                adapter.name: make_exclude_predicate(settings, adapter.name)
                for adapter, _ in agents
            },
            now_ns=1000 * to_us(self.clock.now()),
            is_daemon_running=is_daemon_running,
            mask=redactor.mask if settings.redact.store else None,
            on_progress=on_progress,
        )

    def sample_logs(
        self, paths: Iterable[Path], *, only_unknown: bool
    ) -> list[SampledSource]:
        """Return the structure of entries of these logs, one of each kind.

        Raise SourceError if one of the files cannot be read at all.
        """
        from leslied.pipeline.maintenance import format_sample  # noqa: PLC0415
        from leslied.redact.skeleton import Skeleton  # noqa: PLC0415

        agents = list(self.iter_agent_roots(self.load_settings()))
        skeleton = Skeleton()
        samples = []
        for path in paths:
            adapter, source, pattern = format_sample.find_log(agents, path)
            sampler = format_sample.LogSampler(
                adapter, source, pattern, skeleton, only_unknown
            )
            samples.append(sampler.run())
        return samples

    def load_settings(self) -> Settings:
        """Load and validate the user's settings."""
        from leslied.config import load_settings  # noqa: PLC0415

        return load_settings(self.paths.config_file, self.load_adapters())

    def load_adapters(self) -> Mapping[str, AgentAdapter]:
        """Return the adapters of all supported agents, by name."""
        from leslied.agents import load_adapters  # noqa: PLC0415 - not always needed

        return load_adapters()

    def iter_agent_roots(
        self, settings: Settings
    ) -> Iterator[tuple[AgentAdapter, list[Root]]]:
        """Yield every agent with the directories it writes logs to."""
        from msgspec.structs import replace  # noqa: PLC0415 - not always needed

        environment = self._environment
        for name, adapter in self.load_adapters().items():
            configured_roots = _list_configured_roots(settings, name)
            roots = [
                root
                for root in adapter.roots(environment, configured_roots)
                # Before the first import there is no folder for imports: leave it out,
                # or it would be reported as missing.
                if root.path.parent != self.paths.imports_dir or root.path.is_dir()
            ]
            paths = {root.path for root in roots}
            learned_roots = self._list_learned_roots(name)
            roots += [
                replace(root, is_learned=True)
                for root in adapter.roots(environment, learned_roots)
                if learned_roots and root.path not in paths
            ]
            if adapter.project_log and settings.agent(name).enabled:
                projects = self._list_projects_with_log(adapter.project_log, paths)
                roots += adapter.roots(environment, projects) if projects else ()
            yield adapter, roots

    def _list_projects_with_log(
        self, log_name: str, root_paths: set[Path]
    ) -> list[Path]:
        """Return the projects in the store that contain a log of this name.

        Projects that are among `root_paths` are left out.
        """
        from leslied.pipeline.root_learning import find_folders_with_log  # noqa: PLC0415

        if not self.paths.store_file.exists():
            return []
        try:
            with self.open_reader() as reader:
                folders = reader.projects.list_project_folders()
        except LesliedError:
            # A rebuild begins with a store that cannot be read.
            return []
        paths = (path for folder in folders for path in folder.log_folders)
        projects = find_folders_with_log(paths, log_name)
        return [project for project in projects if project not in root_paths]

    def _list_learned_roots(self, agent: str) -> list[Path]:
        """Return the folders that hook events of this agent named."""
        from leslied.hooks import AGENT_NAME, learned_roots  # noqa: PLC0415

        if agent != AGENT_NAME:
            return []
        folders, _ = learned_roots.load(str(self.paths.data_dir))
        return [Path(folder) for folder in folders]

    def list_registries(
        self, settings: Settings
    ) -> list[tuple[AgentAdapter, list[ProcessRegistry]]]:
        """Return every agent with the files that list its live processes."""
        environment = self._environment
        registries = []
        for name, adapter in self.load_adapters().items():
            # Ask for the configured roots and for each learned root separately: an
            # adapter that gets any root leaves out its default ones.
            root_sets = [_list_configured_roots(settings, name)]
            root_sets += [[root] for root in self._list_learned_roots(name)]
            agent_registries = [
                registry
                for roots in root_sets
                for registry in adapter.live_registries(environment, roots)
            ]
            registries.append((adapter, agent_registries))
        return registries

    def make_flow(
        self,
        store: Store,
        reader: StoreReader,
        *,
        is_final: bool = False,
        is_daemon: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> Flow:
        """Return a flow with all stages, made from the current settings.

        With `is_final`, unfinished turns are settled too. With `is_daemon`, the stages
        use less memory, wait only briefly for locks, and do not retry failed work
        before its pause is over.
        """
        from leslied.pipeline import Flow, StageContext, make_stages  # noqa: PLC0415
        from leslied.pipeline.progress import ignore_progress  # noqa: PLC0415

        settings = self.load_settings()
        redactor = self.load_redactor()
        context = StageContext(
            store=store,
            reader=reader,
            settings=settings,
            home=self.home,
            paths=self.paths,
            clock=self.clock,
            agents=list(self.iter_agent_roots(settings)),
            registries=self.list_registries(settings),
            redactor=redactor,
            mask=redactor.mask if settings.redact.store else None,
            failures=self._load_failures(store, is_daemon=is_daemon),
            on_progress=on_progress or ignore_progress,
            is_final=is_final,
            is_daemon=is_daemon,
        )
        return Flow(make_stages(context), store, context.failures)

    def _load_failures(self, store: Store, *, is_daemon: bool) -> Failures:
        """Load earlier failures; in the daemon, also mark the source being read."""
        from leslied.pipeline.failures import Failures  # noqa: PLC0415
        from leslied.pipeline.work_marker import WorkMarker  # noqa: PLC0415

        marker = WorkMarker(self.paths.work_marker) if is_daemon else None
        return Failures(store, self.clock, ignores_pauses=not is_daemon, marker=marker)


def _list_configured_roots(settings: Settings, agent: str) -> list[Path]:
    return [path.expanduser() for path in settings.agent(agent).roots]


def get_app(ctx: click.Context) -> App:
    """Return the app of the running command, honouring `--config`."""
    environ = read_environ()
    paths = get_paths(environ, ctx.find_root().obj)
    trust_folder(paths.central_dir)
    return App(environ, paths, SystemClock())
