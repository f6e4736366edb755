"""Test which folders are learned from hook events and from other sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.hooks import learned_roots
from leslied.model.source import Environment, Root
from leslied.pipeline.root_learning import RootLearner, find_folders_with_log
from tests.support.claude import ADAPTER, SESSION


def make_roots(folder: Path) -> list[Root]:
    env = Environment(home=Path("/"), environ={}, platform="linux")
    return list(ADAPTER.roots(env, [folder]))


@pytest.fixture
def learner(tmp_path: Path) -> RootLearner:
    return RootLearner(
        agent=ADAPTER.name,
        data_dir=tmp_path / "data",
        own_folders=(tmp_path / "data",),
        make_roots=make_roots,
    )


def write_log(folder: Path, name: str = f"-app/{SESSION}.jsonl") -> Path:
    path = folder / "projects" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    return path


def test_the_folder_of_a_log_is_learned(learner: RootLearner, tmp_path: Path):
    log = write_log(tmp_path / "elsewhere")

    assert learner.learn(log) == tmp_path / "elsewhere"
    assert learned_roots.load(str(learner.data_dir))[0] == [f"{tmp_path}/elsewhere"]


def test_the_folder_of_a_subagent_log_is_learned(learner: RootLearner, tmp_path: Path):
    log = write_log(tmp_path / "elsewhere", f"-app/{SESSION}/subagents/agent-a.jsonl")

    assert learner.learn(log) == tmp_path / "elsewhere"


def test_a_link_is_learned_as_its_target(learner: RootLearner, tmp_path: Path):
    log = write_log(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    linked_log = tmp_path / "link" / log.relative_to(tmp_path / "elsewhere")
    assert learner.learn(linked_log) == tmp_path / "elsewhere"


@pytest.mark.threat("P1")
def test_a_link_out_of_the_folder_is_not_learned(learner: RootLearner, tmp_path: Path):
    log = write_log(tmp_path / "elsewhere")
    log.unlink()
    (tmp_path / "target.jsonl").write_text("{}\n")
    log.symlink_to(tmp_path / "target.jsonl")

    assert learner.learn(log) is None


@pytest.mark.threat("P1")
@pytest.mark.parametrize("name", ["", "projects", "projects/-app"])
def test_a_folder_that_others_can_write_to_is_not_learned(
    learner: RootLearner, tmp_path: Path, name: str
):
    log = write_log(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / name).chmod(0o777)

    assert learner.learn(log) is None


@pytest.mark.threat("P1")
def test_a_log_of_another_user_is_not_learned(
    learner: RootLearner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = write_log(tmp_path / "elsewhere")
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert learner.learn(log) is None


@pytest.mark.threat("P1")
def test_leslieds_own_files_are_not_learned(learner: RootLearner, tmp_path: Path):
    assert learner.learn(write_log(tmp_path / "data" / "archive")) is None


@pytest.mark.threat("P1")
def test_a_pipe_is_not_learned(learner: RootLearner, tmp_path: Path):
    log = write_log(tmp_path / "elsewhere")
    log.unlink()
    os.mkfifo(log)

    assert learner.learn(log) is None


def test_a_log_that_does_not_exist_is_not_learned(learner: RootLearner, tmp_path: Path):
    assert learner.learn(tmp_path / "x" / "projects" / "-app" / "1.jsonl") is None


def test_nothing_is_learned_if_the_agent_is_disabled(tmp_path: Path):
    learner = RootLearner(
        agent=ADAPTER.name,
        data_dir=tmp_path / "data",
        own_folders=(),
        make_roots=make_roots,
        is_enabled=False,
    )

    assert learner.learn(write_log(tmp_path / "elsewhere")) is None


# Logs in projects

LOG = ".aider.chat.history.md"


def make_project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / LOG).write_text("# aider chat started at 2026-11-17 10:00:00\n")
    return folder


def test_a_project_with_a_log_is_returned_once(tmp_path: Path):
    project = make_project(tmp_path / "app")
    (tmp_path / "other").mkdir()

    folders = [str(project), str(tmp_path / "other"), str(project)]
    assert find_folders_with_log(folders, LOG) == [project]


@pytest.mark.parametrize("folder", ["/no/such/folder", "relative", "", "/a\0b"])
def test_a_project_that_is_gone_has_no_log(folder: str):
    assert find_folders_with_log([folder], LOG) == []


def test_a_project_that_cannot_be_read_has_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project = make_project(tmp_path / "app")

    def refuse(path: Path) -> os.stat_result:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "lstat", refuse)
    assert find_folders_with_log([str(project)], LOG) == []


@pytest.mark.threat("P1")
def test_a_log_that_is_a_link_is_not_read(tmp_path: Path):
    project = tmp_path / "app"
    project.mkdir()
    (project / LOG).symlink_to("/etc/passwd")

    assert find_folders_with_log([str(project)], LOG) == []


@pytest.mark.threat("P1")
def test_a_log_that_others_can_write_is_not_read(tmp_path: Path):
    project = make_project(tmp_path / "app")
    (project / LOG).chmod(0o666)

    assert find_folders_with_log([str(project)], LOG) == []
