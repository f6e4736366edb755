"""Pages about commands, made from the commands themselves: `make docs`."""

from __future__ import annotations

import html
import inspect
from collections.abc import Iterator

import click

from leslied.cli import SECTIONS, leslied
from leslied.cli.help import LesliedCommand

DOC_PAGES = {
    "assets": "assets",
    "export": "outputs",
    "hooks": "hooks",
    "init": "guide",
    "prune": "prune",
    "sql": "sql",
    "stats": "stats",
    "sync": "performance",
    "threads": "threads",
}
"""Pages of `docs` that tell more of a command."""
GENERATED_NOTICE = (
    "<!-- Made from the program by `make docs`; change the command instead. -->\n\n"
)


def format_command_table(pages: str, docs: str) -> str:
    """Every command in a table, by what one wants; where their pages and others are."""
    rows = ["| command | does |", "|---|---|"]
    for section, commands in SECTIONS.items():
        rows.append(f"| **{section}** | |")
        for name, line in commands.items():
            below = ", ".join(
                f"`{ctx.info_name}`" for ctx in _iter_subcommands(_get_command(name))
            )
            first = f"[`leslied {name}`]({pages}{name}.md) {below}".strip()
            more = f" [More]({docs}{DOC_PAGES[name]}.md)." if name in DOC_PAGES else ""
            rows.append(f"| {first} | {line}{more} |")
    return "\n".join(rows) + "\n"


def render_pages() -> dict[str, str]:
    """Every page under its file name."""
    names = [name for section in SECTIONS.values() for name in section]
    pages = {
        f"{name}.md": GENERATED_NOTICE
        + "\n".join(_render_page(_get_command(name), "#"))
        for name in names
    }
    _, *rest = _render_page(_root(), "#")
    index = ["# Commands", *rest, "## All of them", "", format_command_table("", "../")]
    return pages | {"README.md": GENERATED_NOTICE + "\n".join(index)}


def iter_commands() -> Iterator[click.Context]:
    """Every command there is, those of groups too, and the program itself."""
    yield _root()
    for ctx in _iter_subcommands(_root()):
        yield ctx
        yield from _iter_subcommands(ctx)


def _get_command(name: str) -> click.Context:
    return next(ctx for ctx in _iter_subcommands(_root()) if ctx.info_name == name)


def _root() -> click.Context:
    return click.Context(leslied, info_name="leslied", **leslied.context_settings)


def _iter_subcommands(ctx: click.Context) -> Iterator[click.Context]:
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            found = ctx.command.get_command(ctx, name)
            yield click.Context(found, parent=ctx, info_name=name)


def _render_page(ctx: click.Context, mark: str) -> Iterator[str]:
    command = ctx.command
    assert isinstance(command, LesliedCommand), (
        f"{ctx.command_path} is no leslied Command"
    )
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield from (f"{mark} {ctx.command_path}", "", f"    {ctx.command_path} {usage}", "")
    yield from map(
        _format_paragraph, inspect.cleandoc(command.help or "").split("\n\n")
    )
    yield from _render_options(ctx)
    yield from _render_examples(command)
    if command.exit_codes:
        yield from ("| exit code | means |", "|---|---|")
        yield from (f"| {code} | {why} |" for code, why in command.exit_codes)
        yield ""
    if command.epilog:
        yield from (command.epilog, "")
    if ctx.info_name in DOC_PAGES and ctx.parent and not ctx.parent.parent:
        name = DOC_PAGES[ctx.info_name]
        yield from (f"More: [docs/{name}.md](../{name}.md)", "")
    if command.see_also:
        yield from ("See also: " + ", ".join(map(_format_link, command.see_also)), "")
    if ctx.parent:
        for below in _iter_subcommands(ctx):
            yield from _render_page(below, mark + "#")


def _render_options(ctx: click.Context) -> Iterator[str]:
    records = [
        param.get_help_record(ctx)
        for param in ctx.command.get_params(ctx)
        if isinstance(param, click.Option) and "--help" not in param.opts
    ]
    if any(records):
        yield from ("| option | means |", "|---|---|")
    for option, means in filter(None, records):
        cells = (f"`{option}`", " ".join(means.split()))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield from [""] if any(records) else []


def _render_examples(command: LesliedCommand) -> Iterator[str]:
    if command.examples:
        longest = max(len(words) for words, _ in command.examples)
        yield "```sh"
        for words, does in command.examples:
            yield f"{words:<{longest}}  # {does}"
        yield from ("```", "")


def _format_link(name: str) -> str:
    page, _, below = name.partition(" ")
    anchor = f"#leslied-{page}-{below}" if below else ""
    return f"[leslied {name}]({page}.md{anchor})"


def _format_paragraph(text: str) -> str:
    """A paragraph as it is; one that click must not wrap, as a block."""
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```\n"
    return html.escape(text, quote=False) + "\n"
