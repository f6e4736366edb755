"""No secret of a log leaves the store: every command, export and file is searched.

A new command, export format or SQL view is tested, too, or fails the first test.
"""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
import pytest

from leslied.cli import leslied as root_command
from leslied.sinks import load_sinks
from leslied.store import VIEWS
from leslied.web.routes import ENDPOINTS
from tests.support.canaries import Canaries
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.clock import FakeClock
from tests.support.secret_samples import KINDS_OF_EVERY_SHAPE
from tests.support.waiting import wait_until
from tests.support.web import serve_page

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S1", "S2", "S3")]

FORMATS = sorted(load_sinks())
SESSION_SUFFIX = "-2222-4333-8444-555555555555"
IDS = ("sessionId", "uuid", "parentUuid", "agentId", "cwd", "file_path", "filePath")
"""Fields without a secret in a session that gets all of its files."""
CUTS = (40, 50, 80, 120, 140, 200, 2000, 4096, 20480)
"""Lengths at which titles, names, cells, snippets, results or files are cut."""

INVOCATIONS: dict[str, list[list[str]]] = {
    "list": [["--all"], ["--all", "--subagents"], ["--all", "--subagents", "--json"]],
    "show": [
        ["{thread}"],
        ["{thread}", "--full", "--thinking", "--tool-output"],
        ["{thread}", "--summary"],
        ["{thread}", "--style", "log"],
        ["{thread}", "--style", "leslie"],
        ["{thread}", "--style", "markdown"],
        ["{thread}", "--json"],
    ],
    "search": [
        ["Done", "-n", "1000"],
        ["Done", "--all", "--json"],
        ["li", "--all", "--substring", "--json"],
    ],
    "files": [[], ["--json"], ["{project}", "--json"]],
    "follow": [["--once"], ["--once", "--json"]],
    "mark": [["{thread}"], ["{thread}", "--json"]],
    "diff": [["{thread}", "{other}"], ["{thread}", "{other}", "--full", "--json"]],
    "replay": [["{thread}", "--instant"], ["{thread}", "--instant", "--full"]],
    "stats": [
        ["--by", by, *option]
        for by in ("day", "model", "project", "session", "tool")
        for option in ([], ["--json"], ["--csv"])
    ],
    "projects list": [[], ["--json"]],
    "sql": [
        [f"SELECT * FROM {view.name}", *option]
        for view in VIEWS
        for option in ([], ["--json"], ["--csv"])
    ],
    "export": [
        ["--all", "-f", name, "-o", f"{{out}}/{name}/", "--json"] for name in FORMATS
    ],
    "bundle": [
        ["{thread}", "-o", "{out}/{thread}.zip"],
        ["{thread}", "--format-sample", "-o", "{out}/{thread}-sample.zip"],
    ],
    "threads tree": [["--project", "{project}"], ["--dot"], ["--json"]],
    "threads list": [[], ["--json"]],
    "assets": [["{thread}"], ["{thread}", "--json"], ["lint", "{thread}", "--json"]],
    "context": [["{thread}"], ["{thread}", "--json"]],
    "resume": [["{thread}"], ["{thread}", "--json"]],
    "inbox": [[], ["--json"]],
    "sync": [[], ["--json"]],
    "status": [["--rejected"], ["--rejected", "--json"]],
    "agents": [[], ["--json"]],
    "doctor": [[], ["--json"], ["--deep"], ["--deep", "--json"]],
    "secrets scan": [["-n", "100000"], ["-n", "100000", "--json"]],
    "secrets clean": [[], ["--yes"], ["--json"]],
    "disk": [[], ["--json"]],
    "prune": [["--older-than", "1d"], ["--keep", "1", "--json"]],
    "forget": [["{thread}"], ["{thread}", "--json"], ["--text", "prompt"]],
    "rebuild": [["--json"]],
}
"""The arguments with which each command is called."""
WITHOUT_SESSIONS = {
    "statusline": "prints numbers of the session that the agent names on its input",
    "projects link": "prints the two paths that the user typed",
    "projects unlink": "prints the path that the user typed",
    "import": "prints numbers, and the paths that the user typed",
    "inject": "prints the id of the message that the user typed",
    "init": "shows a file of the user's project; tested in test_init.py",
    "hooks install": "prints paths of settings files",
    "hooks uninstall": "prints paths of settings files",
    "hooks status": "prints paths of settings files",
    "run": "writes the log, which is tested below",
    "web": "prints a link; what the page answers is tested below",
    "service install": "prints the path of the service's file",
    "service uninstall": "prints the path of the service's file",
    "service status": "prints the state of the service",
    "service logs": "prints the daemon's log, which is tested below",
    "pause": "prints one sentence",
    "unpause": "prints one sentence",
    "demo": "shows a scripted session",
    "config show": "prints the user's settings",
    "config path": "prints a path",
    "completion bash": "prints a script",
    "completion zsh": "prints a script",
    "completion fish": "prints a script",
    "completion install": "prints the path of the script",
    "completion uninstall": "prints the path of the script",
    "help": "prints help",
}
"""Why a command is not called: it prints nothing of any session."""


@dataclass
class Machine:
    """A home whose sessions have secrets everywhere, after a sync."""

    runner: LesliedRunner
    canaries: Canaries
    out: Path
    project: Path

    def find_leaks(self, name: str, text: str) -> list[str]:
        return [f"{name}: {leak}" for leak in sorted(self._search(text))]

    def __post_init__(self) -> None:
        self._search = self.canaries.make_search()


def make_lines(session_id: str, cwd: str) -> list[dict[str, Any]]:
    """Build a session with every kind of line that has text."""
    log = ClaudeLogBuilder(session_id, cwd=cwd, started_at=AFTER_STORE_CREATION)
    plan = f"{cwd}/.leslie/threads/thread-{session_id[:8]}/plan.md"
    todos = [{"content": "first", "status": "pending", "activeForm": "doing"}]
    task = {"prompt": "go", "subagent_type": "helper", "description": "a task"}
    return [
        log.line("ai-title", aiTitle="A title"),
        log.prompt("Do it", slug="slug", promptId="p1"),
        log.think("Hmm"),
        log.call("Write", {"file_path": plan, "content": "# Plan"}, "toolu_1"),
        log.result("toolu_1", "written", toolUseResult={"filePath": plan}),
        log.call("Bash", {"command": "ls", "description": "List files"}, "toolu_2"),
        log.result("toolu_2", "listing", is_error=True),
        log.call("mcp__one__two", {"deep": [{"er": "value"}]}, "toolu_3"),
        log.result("toolu_3", [{"type": "text", "text": "part"}]),
        log.call("TodoWrite", {"todos": todos}, "toolu_4"),
        log.result("toolu_4", "noted"),
        log.call("ExitPlanMode", {"plan": "# The plan"}, "toolu_5"),
        log.result("toolu_5", "approved"),
        log.call("Task", task, "toolu_6"),
        log.result("toolu_6", "counted", toolUseResult={"agentId": "a1"}),
        log.answer("Done"),
        log.prompt("And more"),
        log.line("system", subtype="local_command", content="command output"),
        log.line("summary", summary="A summary", leafUuid="leaf"),
        log.line("attachment", attachment={"type": "file", "filename": "name.txt"}),
        log.line("unheard-of", value="thing"),
        log.answer("API error", model="<synthetic>", isApiErrorMessage=True),
        log.prompt("Last"),
        log.answer("Done again"),
    ]


def make_subagent_lines(session_id: str, cwd: str) -> list[dict[str, Any]]:
    log = ClaudeLogBuilder(session_id, cwd=cwd, started_at=AFTER_STORE_CREATION)
    log.started_at += timedelta(hours=1)
    lines = [
        log.prompt("go"),
        log.call("Read", {"file_path": "/etc/motd"}, "toolu_9"),
        log.result("toolu_9", "contents"),
        log.answer("counted"),
    ]
    return [line | {"isSidechain": True, "agentId": "a1"} for line in lines]


class SessionWriter:
    """Writer of sessions with secrets into a home."""

    def __init__(self, home: Path, canaries: Canaries) -> None:
        self.home, self.canaries = home, canaries
        self.claude = ClaudeHome(home, home / "unused", FakeClock())

    def write_content(self, session_id: str, project: Path) -> None:
        """Write a session with secrets in its texts, but not in its ids and paths."""
        self._write(session_id, project, f"-app/{session_id}", "a1", IDS)

    def write_everywhere(self, session_id: str, project: Path) -> None:
        """Write a session with secrets also in ids, the folder and the log's name."""
        name = self.canaries.put_in_name(session_id, "sessionId")
        subagent = self.canaries.put_in_name("a1", "agentId")
        self._write(session_id, project, f"-app/{name}", subagent, ())

    def write_in_folder(self, session_id: str) -> None:
        """Write a session in a project with a secret in its path, and its assets."""
        name = self.canaries.put_in_name(f"folder {session_id[:8]}", "folder")
        project = self.home / name
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        self._write(session_id, project, f"-{name}/{session_id}", "a1", IDS)
        asset = project / f".leslie/threads/thread-{session_id[:8]}/design/{name}.md"
        asset.parent.mkdir(parents=True)
        asset.write_text(self.canaries.put("# Heading", "heading"))
        self.claude.log(f"-{name}/broken {name}.jsonl").write_text(f"{{ {name}\n")
        self.claude.log(f"-{name}/folder {name}.jsonl").mkdir()
        packed = self.home / f".codex/sessions/rollout-{name}.jsonl.zst"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_text("cannot be decompressed")

    def write_cut(self, session_id: str, project: Path, cut: int, offset: int) -> None:
        """Write a session in which each text has a secret around a length."""
        log = ClaudeLogBuilder(
            session_id, cwd=str(project), started_at=AFTER_STORE_CREATION
        )

        def make_text(number: int) -> str:
            secret = self.canaries.put(f"{session_id}{number}", f"cut {cut}-{offset}")
            secret = secret.partition(" ")[2]
            words = "lorem ipsum " * (cut // 12 + 1)
            return f"{words[: max(cut - offset, 1)]} {secret}"

        self.claude.write(
            log.prompt(make_text(1)),
            log.call("Bash", {"command": make_text(2)}, "toolu_1"),
            log.result("toolu_1", make_text(3)),
            log.answer(make_text(4)),
            name=f"-app/{session_id}.jsonl",
        )

    def _write(
        self,
        session_id: str,
        project: Path,
        name: str,
        subagent: str,
        fixed_keys: Iterable[str],
    ) -> None:
        def put(line: Any) -> Any:
            return self.canaries.put_everywhere(line, fixed_keys)

        lines = make_lines(session_id, str(project))
        self.claude.write(*map(put, lines), name=f"{name}.jsonl")
        lines = make_subagent_lines(session_id, str(project))
        path = f"{name}/subagents/agent-{subagent}"
        self.claude.write(*map(put, lines), name=f"{path}.jsonl")
        meta = put({"agentType": "helper", "description": "a described task"})
        self.claude.log(f"{path}.meta.json").write_text(json.dumps(meta))


def make_home(folder: Path, formats: Iterable[str]) -> LesliedRunner:
    """Create a home with a project and an empty store."""
    home = folder / "home"
    subprocess.run(["git", "init", "-q", str(home / "app")], check=True)
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    formats_list = json.dumps(list(formats))
    config.write_text(f"[output]\nthinking = true\nformats = {formats_list}\n")
    runner = LesliedRunner(home)
    assert runner("sync").code == 0  # Sessions older than the store get no files.
    return runner


def make_machine(runner: LesliedRunner, canaries: Canaries) -> Machine:
    """Ingest the sessions, and write all files."""
    result = runner("sync", "--stop-all")
    assert result.code == 0, result.err
    out = runner.home.parent / "out"
    out.mkdir()
    machine = Machine(runner, canaries, out, runner.home / "app")
    assert not machine.find_leaks("sync", result.out + result.err)
    return machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Return a home in which every kind of secret is at some positions."""
    folder, canaries = tmp_path_factory.mktemp("machine"), Canaries()
    runner = make_home(folder, [name for name in FORMATS if name != "leslie"])
    writer = SessionWriter(runner.home, canaries)
    project = runner.home / "app"
    for number in range(4):
        writer.write_content(f"{number:08x}{SESSION_SUFFIX}", project)
        writer.write_everywhere(f"{number + 0x1000:08x}{SESSION_SUFFIX}", project)
        writer.write_in_folder(f"{number + 0x2000:08x}{SESSION_SUFFIX}")
    cuts = [(cut, offset) for cut in CUTS for offset in range(0, 70, 23)]
    for number, (cut, offset) in enumerate(cuts, 0x3000):
        writer.write_cut(f"{number:08x}{SESSION_SUFFIX}", project, cut, offset)
    return make_machine(runner, canaries)


def iter_commands(command: click.Command, path: str = "") -> Iterator[str]:
    """Yield the name of every command that is not a group."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from iter_commands(child, f"{path} {name}".strip())


def list_threads(machine: Machine) -> list[str]:
    """Return the thread of one session of each form."""
    sessions = machine.runner("list", "--all", "--json").json["data"]["sessions"]
    threads = {session["id"][:8]: session["thread_id"] for session in sessions}
    return [threads[f"{number:08x}"] for number in (0, 0x1000, 0x2000)]


def iter_calls(name: str, threads: list[str], machine: Machine) -> Iterator[list[str]]:
    """Yield the arguments of every call, with a thread of each form if it has one."""
    for arguments in INVOCATIONS[name]:
        needs_thread = any("{thread}" in argument for argument in arguments)
        for thread in threads if needs_thread else threads[:1]:
            out = machine.out / name
            out.mkdir(exist_ok=True)
            fields = {"thread": thread, "other": threads[0], "out": out}
            fields["project"] = machine.project
            yield [*name.split(), *(each.format(**fields) for each in arguments)]


def iter_api_paths(ids: list[str]) -> Iterator[str]:
    """Yield the paths of all questions that the page can ask about these sessions."""
    required = {"q": "Done", "path": "plan.md", "entry": "0" * 32, "format": "leslie"}
    for endpoint in ENDPOINTS:
        if endpoint.method != "GET":
            continue
        values = {
            param.name: required.get(param.name, "1")
            for param in endpoint.params
            if param.is_required or param.name == "q"
        }
        query = f"?{urlencode(values)}" if values else ""
        for session_id in ids if "{id}" in endpoint.path else ids[:1]:
            path = endpoint.path.replace("{id}", quote(session_id))
            yield re.sub(r"\{\w+\}", "0", path) + query


def iter_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and text of a file, or those of the files in a bundle."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as bundle:
            for name in bundle.namelist():
                yield name, bundle.read(name).decode(errors="replace")
    else:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        yield path.name, data.decode(errors="replace")


def find_leaks_below(machine: Machine, folder: Path, top: Path) -> list[str]:
    """Return the leaks in the names and texts of all files below a folder."""
    leaks = []
    for path in folder.rglob("*"):
        leaks += machine.find_leaks(f"name {path.parent}", str(path.relative_to(top)))
        for name, text in iter_texts(path) if path.is_file() else ():
            leaks += machine.find_leaks(name, text)
    return leaks


def test_every_command_is_called_or_prints_nothing_of_sessions():
    assert set(iter_commands(root_command)) == {*INVOCATIONS, *WITHOUT_SESSIONS}


def test_every_kind_of_secret_is_somewhere(machine: Machine):
    kinds = {place.partition(" ")[0] for place in machine.canaries.positions.values()}

    assert len(kinds) >= 0.97 * len(KINDS_OF_EVERY_SHAPE)


@pytest.mark.heavy
@pytest.mark.parametrize("name", INVOCATIONS)
def test_no_command_prints_a_secret(machine: Machine, name: str):
    leaks = []
    for call in iter_calls(name, list_threads(machine), machine):
        result = machine.runner(*call)
        assert result.code in (0, 1), (call, result.err)
        assert "Traceback" not in result.err
        leaks += machine.find_leaks(" ".join(call), result.out + result.err)

    assert not leaks
    assert not find_leaks_below(machine, machine.out / name, machine.out)


@pytest.mark.heavy
def test_no_answer_of_the_page_has_a_secret(machine: Machine):
    leaks = []
    with serve_page(machine.runner) as server:
        sessions = server.get("/sessions?all=true")["sessions"]
        for path in iter_api_paths([session["id"] for session in sessions]):
            response = server.request("GET", f"/api{path}")
            assert response.status in (200, 400), (path, response.body)
            leaks += machine.find_leaks(path, response.body.decode())

    assert not leaks


def test_no_file_in_a_project_or_the_central_tree_has_a_secret(machine: Machine):
    home = machine.runner.home
    folders = [*home.glob("*/.leslie"), home / ".local/share/leslied/central"]
    for folder in folders:
        for asset in folder.glob("threads/*/design"):
            # The agent's own file, which leslied does not write.
            for file in asset.iterdir():
                file.unlink()

    leaks = [leak for each in folders for leak in find_leaks_below(machine, each, each)]

    assert len(folders) > 2
    assert not leaks


def find_leaks_in_home(machine: Machine) -> list[str]:
    """Return the leaks in everything that commands print about all sessions."""
    leaks = []
    for name in ("list", "search", "follow", "sql", "export", "secrets scan", "stats"):
        for call in iter_calls(name, ["last"], machine):
            result = machine.runner(*call)
            leaks += machine.find_leaks(" ".join(call), result.out + result.err)
    return leaks + find_leaks_below(machine, machine.out, machine.out)


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(4))
def test_no_kind_of_secret_leaks_from_any_position(tmp_path: Path, part: int):
    canaries, runner = Canaries(), make_home(tmp_path, ())
    writer = SessionWriter(runner.home, canaries)
    for number, kind in enumerate(KINDS_OF_EVERY_SHAPE[part::4]):
        canaries.use_kind(kind)
        session_id = f"{number:08x}{SESSION_SUFFIX}"
        writer.write_everywhere(session_id, runner.home / "app")

    assert not find_leaks_in_home(make_machine(runner, canaries))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["github", "password", "cookie", "url-password"])
def test_no_secret_leaks_at_any_cut(tmp_path: Path, kind: str):
    canaries, runner = Canaries([kind]), make_home(tmp_path, ())
    writer = SessionWriter(runner.home, canaries)
    cuts = [(cut, offset) for cut in CUTS[:6] for offset in range(70)]
    for number, (cut, offset) in enumerate(cuts):
        session_id = f"{number:08x}{SESSION_SUFFIX}"
        writer.write_cut(session_id, runner.home / "app", cut, offset)

    machine = make_machine(runner, canaries)
    folder = runner.home / "app/.leslie"
    assert not find_leaks_in_home(machine)
    assert not find_leaks_below(machine, folder, folder)


@pytest.mark.parametrize("options", [[], ["--log-json"]], ids=["text", "json"])
def test_the_log_has_no_secret_and_no_control_character(
    tmp_path: Path, options: list[str]
):
    canaries, runner = Canaries(["github"]), make_home(tmp_path, ())
    name = canaries.put_in_name("\x1b[31m\u202e", "name of a log")
    folder = runner.home / ".codex/sessions/2026/11/17"
    folder.mkdir(parents=True)
    (folder / f"rollout-{name}.jsonl.zst").write_text("cannot be decompressed")
    log = tmp_path / "log"
    with log.open("w") as file:
        daemon = runner.start("run", *options, stderr=file)
        wait_until(lambda: "rollout-" in log.read_text())
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()

    text = log.read_text()
    assert not canaries.make_search()(text)
    assert text.replace("\n", "").isprintable()


def test_an_error_message_has_no_secret(machine: Machine):
    session_id = next(
        text
        for text in machine.canaries.texts
        if text.startswith(f"{0x1000:08x}{SESSION_SUFFIX}")
    )
    result = machine.runner("show", session_id + "?")

    assert result.code == 2
    assert not machine.find_leaks("error", result.err)
