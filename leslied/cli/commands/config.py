"""`leslied config`: the settings and the path of the config file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, json_option
from leslied.model.command_results import ConfigFile, EffectiveConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@click.group(cls=LesliedGroup, see_also=["doctor", "service install"])
def command() -> None:
    """Show the settings and the path of the config file.

    The config file is config.toml in the user's config folder, unless --config or the
    environment variable LESLIED_CONFIG names another. The store is in the user's data
    folder or in LESLIED_DATA_DIR. The daemon rereads the config file every 30 seconds.
    """


@command.command(
    examples=[
        ("leslied config show", "print all settings"),
        ("leslied config show > my-config.toml", "create a config file to edit"),
        ("leslied --config my-config.toml config show", "check a config file"),
    ],
    see_also=["config path"],
)
@json_option
@click.pass_context
def show(ctx: click.Context, *, as_json: bool) -> None:
    """Print the effective settings as TOML.

    Settings missing from the config file have their default values. The output is a
    valid config file.
    """
    app = get_app(ctx)
    file = app.paths.config_file
    config = EffectiveConfig(
        path=str(file),
        exists=file.exists(),
        settings=app.load_settings().to_dict(app.load_adapters()),
    )
    emit(config.to_dict, lambda: _toml_lines(config), as_json=as_json)


@command.command(
    examples=[
        ("leslied config path", "print the path"),
        ('$EDITOR "$(leslied config path)"', "edit the config file"),
    ],
    see_also=["config show"],
)
@json_option
@click.pass_context
def path(ctx: click.Context, *, as_json: bool) -> None:
    """Print the path of the config file, whether it exists or not."""
    file = get_app(ctx).paths.config_file
    config = ConfigFile(path=str(file), exists=file.exists())
    emit(config.to_dict, lambda: [config.path], as_json=as_json)


def _toml_lines(config: EffectiveConfig) -> Iterator[str]:
    yield f"# {config.path}" + ("" if config.exists else " (does not exist)")
    yield from _table_lines("", config.settings)


def _table_lines(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table and of the tables in it, each below its header."""
    values = {k: v for k, v in table.items() if not isinstance(v, dict)}
    if name and (values or not table):
        yield ""
        yield f"[{name}]"
    for key, value in values.items():
        yield f"{key} = {_format_value(value)}"
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _table_lines(f"{name}.{key}".lstrip("."), value)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_format_value, value)) + "]"
    if isinstance(value, int):
        return str(value)
    # Escapes of JSON are also escapes of TOML.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
