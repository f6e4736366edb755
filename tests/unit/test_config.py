"""Loading the config file, and its example."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.config import (
    AgentSettings,
    Settings,
    load_secret_finder,
    load_settings,
)
from leslied.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
AGENTS = list(load_adapters())


def load_text(tmp_path: Path, text: str) -> Settings:
    """Write the text to a config file and load it."""
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load_settings(path, AGENTS)


@pytest.mark.fault("E13")
def test_without_a_file_the_defaults_apply(tmp_path: Path):
    assert load_settings(tmp_path / "none.toml", AGENTS) == Settings()


def test_with_an_empty_file_the_defaults_apply(tmp_path: Path):
    assert load_text(tmp_path, "") == Settings()


def test_the_example_shows_every_key_with_its_default():
    example = tomllib.loads((ROOT / "config.example.toml").read_text())
    defaults = asdict(Settings())
    defaults["agents"] = {"claude-code": asdict(AgentSettings())}

    assert example == replace_tuples(defaults)


def replace_tuples(value: Any) -> Any:
    """Return the value with tuples replaced by lists, as TOML has only lists."""
    if isinstance(value, dict):
        return {key: replace_tuples(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def test_the_example_is_a_valid_config_file():
    settings = load_settings(ROOT / "config.example.toml", AGENTS)

    assert settings.agent("claude-code") == AgentSettings()


def test_an_agent_can_be_disabled(tmp_path: Path):
    settings = load_text(tmp_path, "[agents.claude-code]\nenabled = false\n")

    assert not settings.agent("claude-code").enabled


@pytest.mark.fault("E13")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[stor]\n", "line 1: unknown key 'stor'. Did you mean 'store'?"),
        ("[store]\n\nwarn_byte = 1\n", "line 3: unknown key 'store.warn_byte'"),
        ("[agents.claude-code]\nroot = []\n", "Did you mean 'roots'?"),
        ("agents = 3\n", "agents"),
        ('[projects]\nexclude = ["secret"]\n', "line 2: exclude: 'secret' is not an"),
        ("\x00", "is not valid TOML"),
    ],
)
def test_an_error_message_names_the_line_or_the_key(
    tmp_path: Path, text: str, message: str
):
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, text)

    assert message in caught.value.message
    assert caught.value.hint


def test_a_huge_file_is_refused(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.touch()
    os.truncate(path, 2**40)

    with pytest.raises(ConfigError, match="is larger than 1,000,000 bytes"):
        load_settings(path, ())


def test_a_folder_instead_of_a_file_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="is not a file"):
        load_settings(tmp_path, AGENTS)


def test_rules_and_exceptions_of_redaction_are_used(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(
        '[redact]\nallow = ["ACME-0+"]\n[redact.rules.acme]\n'
        'pattern = "ACME-[0-9]{4,9}"\nanchors = ["ACME-"]\n'
    )

    secrets = load_secret_finder(path).find("ACME-0000 ACME-12345")

    assert [(secret.kind, secret.value) for secret in secrets] == [
        ("acme", "ACME-12345")
    ]


def test_without_a_file_the_built_in_kinds_are_secret(tmp_path: Path):
    assert load_secret_finder(tmp_path / "none.toml") is None


@pytest.mark.parametrize("load", [load_secret_finder, lambda p: load_settings(p, [])])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('allow = ["("]\n', "line 2: redact.allow: the pattern is invalid"),
        (
            '[redact.rules]\nacme = { pattern = "AC.+", anchors = ["AC"] }\n',
            "line 3: redact.rules.acme: the pattern repeats without a bound",
        ),
        (
            'rules.acme = { pattern = "AC[0-9]" }\n',
            "redact.rules.acme.anchors: Field required",
        ),
        (
            'rules.acme = { pattern = "AC[0-9]", anchors = ["AC"], anchor = "A" }\n',
            "Did you mean 'anchors'?",
        ),
        ("allows = []\n", "Did you mean 'allow'?"),
    ],
)
def test_an_invalid_rule_or_exception_is_reported(
    tmp_path: Path, load: Callable[[Path], Any], text: str, message: str
):
    path = tmp_path / "config.toml"
    path.write_text(f"[redact]\n{text}")

    with pytest.raises(ConfigError, match=re.escape(message)):
        load(path)


def test_the_daemon_serves_the_page_only_on_request(tmp_path: Path):
    assert not Settings().web.enabled
    assert load_text(tmp_path, "[web]\nenabled = true\nport = 8000").web.port == 8000


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_number_that_is_no_port_is_refused(tmp_path: Path, port: int):
    with pytest.raises(ConfigError, match=r"line 2: web.port: -?\d+ is not a port"):
        load_text(tmp_path, f"[web]\nport = {port}")


def test_an_unknown_key_of_the_page_gets_a_suggestion(tmp_path: Path):
    with pytest.raises(ConfigError, match="Did you mean 'enabled'"):
        load_text(tmp_path, "[web]\nenable = true")
