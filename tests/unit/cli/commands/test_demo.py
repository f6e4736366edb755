"""The demo's daemon reads only the demo's files."""

from __future__ import annotations

import pytest

from leslied.agents import load_adapters
from leslied.cli.commands.demo import _is_user_variable

ENV_VARS = sorted({v for a in load_adapters().values() for v in a.env_vars})


@pytest.mark.parametrize("name", [*ENV_VARS, "LESLIED_CONFIG", "NOTIFY_SOCKET"])
def test_the_daemon_gets_no_variable_that_points_to_the_users_files(name: str):
    assert _is_user_variable(name)


def test_the_daemon_gets_other_variables():
    assert not _is_user_variable("PATH")
