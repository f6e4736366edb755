"""Where an agent may keep the log of a project."""

from __future__ import annotations

from leslied.model.project import ProjectFolder


def test_a_log_may_be_at_the_top_level_or_in_the_working_directory():
    folder = ProjectFolder("/app/src", "/app", "/app")

    assert folder.log_folders == ("/app", "/app/src")


def test_without_git_a_log_is_in_the_working_directory():
    assert ProjectFolder("/app", "", "/app").log_folders == ("/app",)
