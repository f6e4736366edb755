"""`leslied config`: the settings and where they are kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from leslied.agents import load_adapters
from leslied.cli.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.output import emit, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.group(cls=LesliedGroup, see_also=["doctor", "service install"])
def command() -> None:
    """Show the settings and where they are kept.

    The file is config.toml in the usual folder for settings, unless --config or the
    variable LESLIED_CONFIG names another. The store is in the usual folder for data,
    or in LESLIED_DATA_DIR. The daemon reads the file again every half minute.
    """


@command.command(
    examples=[
        ("leslied config show", "every setting in force"),
        ("leslied config show > my-config.toml", "a file to begin with"),
        ("leslied --config my-config.toml config show", "what that file makes of it"),
    ],
    see_also=["config path"],
)
@json_option
@click.pass_context
def show(ctx: click.Context, *, as_json: bool) -> None:
    """Print every setting in force, as TOML.

    What the file does not say has its default. The output is a config file itself.
    """
    app = get_app(ctx)
    settings = app.load_settings()
    data: dict[str, Any] = asdict(settings)
    data["agents"] = {name: asdict(settings.agent(name)) for name in load_adapters()}
    file = app.paths.config_file
    emit(
        {"path": str(file), "exists": file.exists(), "settings": data},
        lambda: _toml_lines(
            data, f"# {file}" + ("" if file.exists() else " (no such file)")
        ),
        as_json=as_json,
    )


@command.command(
    examples=[
        ("leslied config path", "where it is looked for"),
        ('$EDITOR "$(leslied config path)"', "change it"),
    ],
    see_also=["config show"],
)
@json_option
@click.pass_context
def path(ctx: click.Context, *, as_json: bool) -> None:
    """Print where the config file is looked for; it need not be there."""
    file = get_app(ctx).paths.config_file
    data = {"path": str(file), "exists": file.exists()}
    emit(data, lambda: [str(file)], as_json=as_json)


def _toml_lines(data: dict[str, Any], head: str) -> Iterator[str]:
    yield head
    tables = {f"agents.{name}": value for name, value in data["agents"].items()}
    tables |= {name: value for name, value in data.items() if name != "agents"}
    for name, values in tables.items():
        yield ""
        yield f"[{name}]"
        for key, value in values.items():
            yield f"{key} = {_toml_value(value)}"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    if isinstance(value, int):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
