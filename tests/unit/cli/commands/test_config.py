"""The printed settings are a config file with the same settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from leslied.cli import leslied

CONFIG = r"""
[redact]
allow = ["a\\d+\"x", "über\u007f"]
[redact.rules.acme-key]
pattern = 'ACME-(?P<secret>[A-Z"\\]{8})'
anchors = ["ACME-"]
[agents.codex]
roots = ["/x/ü y"]
[output]
formats = ["html"]
"""


def show(file: Path, *options: str) -> str:
    result = CliRunner().invoke(
        leslied, ["--config", str(file), "config", "show", *options]
    )
    assert result.exit_code == 0, result.output
    return result.output


def load(file: Path) -> Any:
    return json.loads(show(file, "--json"))["data"]["settings"]


def test_the_printed_settings_are_a_config_file(tmp_path: Path, home: Path):
    file, copy = tmp_path / "config.toml", tmp_path / "copy.toml"
    file.write_text(CONFIG)
    copy.write_text(show(file))

    settings = load(copy)

    assert settings == load(file)
    assert set(settings["redact"]["rules"]) == {"acme-key"}


def test_the_printed_defaults_are_a_config_file(tmp_path: Path, home: Path):
    file, copy = tmp_path / "config.toml", tmp_path / "copy.toml"
    file.touch()
    copy.write_text(show(file))

    assert load(copy) == load(file)
