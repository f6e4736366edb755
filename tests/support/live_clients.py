"""Install coding agents and run them against a scripted model.

`tests/live/clients.toml` says what is special about each client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT.parent / "shared" / "tools" / "agents"
TABLE = ROOT / "tests" / "live" / "clients.toml"
MAX_INSTALL_SECONDS = 600
MAX_RUN_SECONDS = 150
FIRST_ANSWER = "The scripted run is finished."
RESUMED_ANSWER = "Second turn answer."
SUBAGENT_ANSWER = "Worker result: counted."
# What `fakemodel.py` reports in each answer.
ANTHROPIC_CACHE_TOKENS = 18
CHAT_ANSWER_TOKENS = 23


@dataclass(frozen=True, kw_only=True, eq=False)
class Client:
    """How to install and call one client; see the table for the fields."""

    name: str
    agent: str
    npm: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    python: str = "3.12"
    program: str
    arguments: tuple[str, ...]
    resume: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    environ: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    calls: tuple[dict[str, Any], ...] = ()
    texts: tuple[str, ...] = ()
    text_tools: tuple[str, ...] = ()
    delegate: dict[str, Any] = field(default_factory=dict)
    ending: str = ""
    estimates_tokens: bool = False
    side_requests: str = ""

    @property
    def version(self) -> str:
        return (self.npm or self.pip)[0].rpartition("@" if self.npm else "==")[2]

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """Return the calls in the client's own session."""
        return [*self.calls, *([self.delegate] if self.delegate else [])]

    def scenarios(self) -> dict[str, list[dict[str, Any]]]:
        """Return what the model answers to the client and to its subagent."""
        steps = [{"blocks": [{"text": text}]} for text in self.texts]
        steps += [{"blocks": [call]} for call in self.tool_calls]
        if self.calls:
            opening = [{"thinking": "I plan."}, {"text": "I list the files."}]
            steps[0] = {"blocks": [*opening, self.calls[0]]}
        worker = [{"blocks": [self.calls[0]]}] if self.calls else []
        return {
            "live": [*steps, {"text": FIRST_ANSWER + self.ending}],
            "live-worker": [*worker, {"text": SUBAGENT_ANSWER}],
        }


def load_clients() -> dict[str, Client]:
    """Load the table of clients, by name."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: _make_client(name, row) for name, row in table.items()}


def _make_client(name: str, row: dict[str, Any]) -> Client:
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
    }
    return Client(**{"name": name, "agent": name, **values})


@cache
def install_client(client: Client, folder: Path) -> str:
    """Install the client if it is missing; return why it cannot be, or ""."""
    if find_program(client, folder):
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for command in _list_install_commands(client, folder):
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                env={**os.environ, "PATH": _make_path(folder, os.environ["PATH"])},
                timeout=MAX_INSTALL_SECONDS,
            )
    except subprocess.CalledProcessError as error:
        return f"cannot install {client.name}: {error.stderr.decode()[-300:]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot install {client.name}: {error}"
    return "" if find_program(client, folder) else f"{client.name} has no program"


def _list_install_commands(client: Client, folder: Path) -> list[list[str]]:
    if client.npm:
        quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        npm = ["npm", "install", "--prefix", str(folder), *quiet]
        # Node comes last in the table, and first here: install scripts check it.
        return [[*npm, package] for package in reversed(client.npm)]
    python = shutil.which(f"python{client.python}") or f"python{client.python}"
    return [
        [python, "-m", "venv", str(folder / "venv")],
        [str(folder / "venv/bin/pip"), "install", "--quiet", *client.pip],
    ]


def _make_path(folder: Path, path: str) -> str:
    """Return a PATH where the programs of an installation come first."""
    folders = [folder / "node_modules/.bin", folder / "venv/bin"]
    return os.pathsep.join([*map(str, folders), path])


def find_program(client: Client, folder: Path) -> Path | None:
    """Find the client's executable in the folder where it is installed."""
    return next(iter(sorted(folder.glob(client.program))), None)


class CountingModel:
    """Scripted model that counts the tokens it reports, by scenario."""

    def __init__(self, client: Client) -> None:
        import fakemodel  # noqa: PLC0415 - outside the repository

        self._client = client
        self._protocols: list[Any] = fakemodel.PROTOCOLS
        self._original = list(self._protocols)
        self._list_tools = fakemodel.tool_names
        self.usage: list[tuple[str, int, int]] = []
        self.calls: list[tuple[str, str]] = []
        self.model = fakemodel.Model(scenarios=client.scenarios())

    def __enter__(self) -> Self:
        self._protocols[:] = [
            (*protocol[:3], self._count(*protocol[1:])) for protocol in self._original
        ]
        self.model.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.model.stop()
        self._protocols[:] = self._original

    def _count(self, kind: str, read: Any, answer: Any) -> Any:
        def count_and_answer(handler: Any, turn: Any) -> None:
            items, tools = read(turn.body), self._list_tools(turn.body)
            label, _ = self.model.script.choose(items, tools)
            if not self._is_side_request(items, tools):
                self.usage.append((label, *_get_usage(kind, turn)))
                tools_called = [block.get("tool") for block in turn.blocks]
                self.calls += [(label, tool) for tool in tools_called if tool]
            answer(handler, turn)

        return count_and_answer

    def _is_side_request(self, items: list[Any], tools: list[str]) -> bool:
        """Return whether the client asks for itself: for a title or a summary.

        Such a request repeats the prompt, but is not part of the session. It offers
        no tools or one, unless the table has words for its last message.
        """
        if self._client.text_tools:
            return False
        words = self._client.side_requests
        return len(tools) <= 1 or bool(words and re.search(words, items[-1][1]))

    def list_tools(self, scenario: str) -> list[str]:
        """Return the tools of the calls in this scenario, in order."""
        calls = [tool for label, tool in self.calls if label.startswith(f"{scenario}#")]
        return [*calls, *self._client.text_tools]

    def count_tokens(self, scenarios: tuple[str, ...]) -> tuple[int, int]:
        """Return the tokens sent and answered in these scenarios."""
        usage = [row for row in self.usage if row[0].partition("#")[0] in scenarios]
        return sum(row[1] for row in usage), sum(row[2] for row in usage)


def _get_usage(kind: str, turn: Any) -> tuple[int, int]:
    """Return the tokens that the model reports for this answer, with cached ones."""
    if kind == "anthropic":
        characters = sum(len(json.dumps(block)) for block in turn.blocks)
        return turn.tokens + ANTHROPIC_CACHE_TOKENS, 5 + characters // 4
    return turn.tokens, CHAT_ANSWER_TOKENS


@dataclass(frozen=True, kw_only=True)
class ClientHome:
    """Home and project where an installed client runs."""

    client: Client
    folder: Path
    home: Path
    work: Path
    url: str

    def prepare(self) -> None:
        """Write the client's configuration and a small project."""
        from agents import make_project  # noqa: PLC0415 - outside the repository

        (self.home / "tmp").mkdir(parents=True, exist_ok=True)
        make_project(self.work, self._make_environ())
        for path, text in self.client.config.items():
            target = self.home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self._fill(text), encoding="utf-8")
        if self.client.setup:
            self._call(self.client.setup)

    def run(self, prompt: str) -> None:
        """Run the client with a prompt until it exits; fail if it fails."""
        self._call(self.client.arguments, PROMPT=f"{prompt} [cwd={self.work}]")

    def resume(self, prompt: str, session_id: str) -> None:
        """Go on with the session, like `run`."""
        text = f"{prompt} [cwd={self.work}]"
        self._call(self.client.resume, PROMPT=text, SESSION=session_id)

    def _call(self, arguments: tuple[str, ...], **values: str) -> None:
        program = find_program(self.client, self.folder)
        output = self.home.parent / "output"
        with output.open("ab") as file:
            process = subprocess.run(
                [str(program), *(self._fill(text, **values) for text in arguments)],
                cwd=self.work,
                env=self._make_environ(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=MAX_RUN_SECONDS,
            )
        tail = output.read_text(errors="replace")[-2000:]
        assert process.returncode == 0, f"exit code {process.returncode}: {tail}"

    def _make_environ(self) -> dict[str, str]:
        from agents import base_env  # noqa: PLC0415 - outside the repository

        environ: dict[str, str] = base_env(self.home)
        path = _make_path(self.folder, environ["PATH"])
        own = {name: self._fill(text) for name, text in self.client.environ.items()}
        return {**environ, "PATH": path, **own}

    def _fill(self, text: str, **values: str) -> str:
        paths = {"URL": self.url, "WORK": str(self.work), "HOME": str(self.home)}
        for name, value in {**paths, **values}.items():
            text = text.replace(f"@{name}@", value)
        return text

    def end_processes(self) -> None:
        """End what the client left running: every process with this home."""
        entry = f"HOME={self.home}".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if entry in path.read_bytes().split(b"\0"):
                    os.kill(int(path.parent.name), signal.SIGKILL)
