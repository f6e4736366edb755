"""The daemon next to the clients of `clients.toml`.

Requires `LESLIED_LIVE`, the folder where the clients are or will be installed:

    LESLIED_LIVE=FOLDER pytest -n 0 -s tests/live/test_clients.py -k pi

A client that cannot be installed is skipped.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import LesliedError
from leslied.model.record import Record, Usage
from leslied.model.session import SessionSummary
from leslied.store import StoreReader
from tests.live.test_live import PREFIX, TOOLS
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon, get_store_path
from tests.support.live_clients import (
    FIRST_ANSWER,
    RESUMED_ANSWER,
    SUBAGENT_ANSWER,
    Client,
    ClientHome,
    CountingModel,
    install_client,
    load_clients,
)
from tests.support.waiting import wait_until

CLIENTS = load_clients()
MAX_READ_SECONDS = 30
MAX_TEST_SECONDS = 1200
"""The first test of a client installs it."""
pytestmark = [
    pytest.mark.skipif(not PREFIX or not TOOLS.exists(), reason="no live agents"),
    pytest.mark.timeout(MAX_TEST_SECONDS),
]


@dataclass(frozen=True)
class LiveRun:
    """What the daemon stored of a client that ran, and was resumed if it can be."""

    client: Client
    model: CountingModel
    home: Path

    def list_sessions(self) -> list[SessionSummary]:
        """List the sessions and subagents of the client."""
        with StoreReader(get_store_path(self.home)) as reader:
            sessions = reader.list_sessions()
        return [item for item in sessions if item.key.agent == self.client.agent]

    def get_session_id(self) -> str:
        keys = [session.key for session in self.list_sessions()]
        return next(key.session_id for key in keys if not key.subagent_id)

    def show_subagents(self) -> list[dict[str, Any]]:
        """Return the subagents that `leslied show` has below the prompts."""
        result = LesliedRunner(self.home)("show", self.get_session_id(), "--json")
        units = result.json["data"]["units"]
        return [subagent for unit in units for subagent in unit["subagents"]]

    def list_records(self, kind: str, *, of_subagent: bool = False) -> list[Record]:
        """List the records of this type in the session, or in its subagent."""
        sessions = self.list_sessions()
        with StoreReader(get_store_path(self.home)) as reader:
            return [
                placed.record
                for session in sessions
                if bool(session.key.subagent_id) == of_subagent
                for placed in reader.list_records(session.key)
                if placed.record.type == kind
            ]

    def list_prompts(self) -> list[str]:
        return [
            record.content
            for record in self.list_records("user_message")
            if record.metadata.get("origin", "prompt") == "prompt"
        ]

    def has_answer(self, text: str) -> bool:
        answers = self.list_records("assistant_message")
        return any(text in record.content for record in answers)

    def wait_for_answer(self, text: str) -> None:
        store = get_store_path(self.home)
        wait_until(lambda: store.exists() and self.has_answer(text), MAX_READ_SECONDS)


def run_client(run: LiveRun, client_home: ClientHome) -> None:
    """Run and resume the client; wait each time until the daemon has the answer."""
    client_home.run("Please do it [[live]]")
    run.wait_for_answer(FIRST_ANSWER)
    if run.client.resume:
        client_home.resume("Go on [[again]]", run.get_session_id())
        run.wait_for_answer(RESUMED_ANSWER)


@pytest.fixture(scope="module", params=CLIENTS)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveRun]:
    client = CLIENTS[request.param]
    folder = Path(PREFIX).resolve() / "clients" / client.name
    if reason := install_client(client, folder):
        pytest.skip(reason)
    sys.path.insert(0, str(TOOLS))
    home = tmp_path_factory.mktemp(client.name) / "home"
    work = home / "work"
    work.mkdir(parents=True)
    with CountingModel(client) as model:
        client_home = ClientHome(
            client=client, folder=folder, home=home, work=work, url=model.model.url
        )
        client_home.prepare()
        daemon = Daemon(home)
        try:
            wait_until(lambda: has_tables(get_store_path(home)), MAX_READ_SECONDS)
            run = LiveRun(client, model, home)
            run_client(run, client_home)
            yield run
        finally:
            exit_code = daemon.end(signal.SIGTERM)
            client_home.end_processes()
    assert exit_code == 0


def has_tables(store: Path) -> bool:
    """Return whether the daemon has created its store."""
    try:
        with StoreReader(store) as reader:
            reader.list_sessions()
    except LesliedError:
        return False
    return True


def test_each_run_is_in_the_same_session(run: LiveRun):
    (session,) = [item for item in run.list_sessions() if not item.key.subagent_id]

    assert session.cwd == str(run.home / "work")
    assert session.units == len(run.list_prompts())


def test_the_prompts_are_read_once(run: LiveRun):
    prompts = run.list_prompts()

    expected = ["[[live]]", *(["[[again]]"] if run.client.resume else [])]
    assert [text for text in expected if text in "".join(prompts)] == expected
    assert len(prompts) == len(expected)


def test_each_answer_is_read_once(run: LiveRun):
    answers = [record.content for record in run.list_records("assistant_message")]

    expected = [FIRST_ANSWER, *([RESUMED_ANSWER] if run.client.resume else [])]
    ends = [end for text in answers for end in expected if text.startswith(end)]
    assert ends == expected


def test_each_call_has_a_result(run: LiveRun):
    calls = run.list_records("tool_use")
    print(f"\n{run.client.name}: {len(calls)} calls")
    results = run.list_records("tool_result")

    # Some clients log a namespace before the name that the model called.
    names = [record.tool_name.rpartition(".")[2] for record in calls]
    assert names == run.model.list_tools("live")
    assert [record.tool_call_id for record in results] == [
        record.tool_call_id for record in calls
    ]


def test_the_tokens_are_those_of_the_model(run: LiveRun):
    sessions = run.list_sessions()

    usage = sum((session.usage for session in sessions), Usage())
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    expected = run.model.count_tokens(("live", "live-worker", "again"))
    print(f"\n{run.client.name}: {(sent, usage.output_tokens)} of {expected} tokens")
    if run.client.estimates_tokens:
        assert min(sent, usage.output_tokens) > 0
    else:
        assert (sent, usage.output_tokens) == expected


def test_the_subagent_is_linked_to_its_call(run: LiveRun):
    if not run.client.delegate:
        pytest.skip("the client offers no subagents")
    (subagent,) = run.show_subagents()
    (call,) = [
        record
        for record in run.list_records("tool_use")
        if record.tool_name == run.client.delegate["tool"]
    ]
    answers = run.list_records("assistant_message", of_subagent=True)

    assert subagent["spawn_call_id"] == call.tool_call_id
    assert [record.content for record in answers][-1:] == [SUBAGENT_ANSWER]


def test_each_prompt_has_a_transcript(run: LiveRun):
    folder = run.home / "work/.leslie/threads"
    count = len(run.list_prompts())

    wait_until(
        lambda: len(list(folder.glob("*/.meta/transcripts/*.txt"))) == count,
        MAX_READ_SECONDS,
    )
