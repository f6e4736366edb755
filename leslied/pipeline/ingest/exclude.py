"""The folders excluded by `projects.exclude`; all folders if an agent is disabled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from leslied.folder_globs import make_folder_matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.config import Settings

FIRST_CWD = "first_cwd"
"""State key, set only while folders are excluded: where the session began. A session
of an excluded project stays excluded when the agent changes to another folder."""


def make_exclude_predicate(
    settings: Settings, agent: str
) -> Callable[[str], bool] | None:
    """Return a function that tells whether a folder's sessions must not be stored.

    Return None if no folder is excluded. If the agent is disabled, all are excluded.
    """
    if not settings.agent(agent).enabled:
        return lambda _: True
    globs = settings.projects.exclude
    return make_folder_matcher(globs) if globs else None


def parse_state(text: str) -> dict[str, Any]:
    """Parse the decoder state saved with a cursor; return {} if there is none."""
    state = msgspec.json.decode(text) if text else {}
    return state if isinstance(state, dict) else {}


def list_session_folders(state: str) -> set[str]:
    """Return the folders in which a session began and is now, from its decoder state.

    The set is empty if they are not known.
    """
    values = parse_state(state)
    return {str(values[name]) for name in (FIRST_CWD, "cwd") if values.get(name)}
