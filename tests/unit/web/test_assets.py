"""The files of the page."""

from __future__ import annotations

import posixpath
import re

import pytest

from leslied.web.assets import load_assets

ASSETS = load_assets()
TEXTS = {name: asset.body.decode() for name, asset in ASSETS.items()}


def test_every_file_that_the_page_loads_is_an_asset():
    page = TEXTS["index.html"]

    names = re.findall(r'(?:href|src)="/static/([^"]+)"', page)
    assert names
    assert set(names) <= set(ASSETS)


def test_files_for_tools_are_not_served():
    assert not [name for name in ASSETS if name.endswith(".json")]


def test_every_imported_script_exists():
    for name, text in TEXTS.items():
        folder = name.split("/")[:-1]
        for target in re.findall(r'(?:from|import\()\s*"(\.[^"]+)"', text):
            parts = [*folder]
            for part in target.split("/"):
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            assert "/".join(parts) in ASSETS, f"{name} imports {target}"


@pytest.mark.threat("W5")
def test_no_file_loads_anything_from_another_host():
    # The name of the vector format is an address that nothing loads.
    remote = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[\w-]+\.[a-z]+")

    found = {name: remote.findall(text) for name, text in TEXTS.items()}
    assert {name: hits for name, hits in found.items() if hits} == {}


@pytest.mark.threat("W5")
def test_the_page_has_no_inline_script_or_style():
    page = TEXTS["index.html"]

    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


def _list_first_classes(name: str) -> set[str]:
    """Return the classes with which selectors of a style sheet start."""
    rules = re.sub(r"/\*.*?\*/", "", TEXTS[name], flags=re.DOTALL)
    return set(re.findall(r"(?:^|[,}{])\s*\.([\w-]+)", rules))


def test_pages_do_not_restyle_shared_components():
    shared = _list_first_classes("css/components.css")
    pages = re.findall(r'"/static/([^"]+)" data-page', TEXTS["index.html"])

    assert pages
    assert {name: _list_first_classes(name) & shared for name in pages} == {
        name: set() for name in pages
    }


def find_imports(name: str, found: set[str]) -> set[str]:
    """Add a script and all that it imports statically to `found`; return it."""
    if name not in found:
        found.add(name)
        for path in re.findall(r'from "(\.[^"]+)"', TEXTS[name]):
            target = posixpath.join(posixpath.dirname(name), path)
            find_imports(posixpath.normpath(target), found)
    return found


def test_everything_that_the_list_of_sessions_imports_is_preloaded():
    page = TEXTS["index.html"]
    links = re.findall(r'rel="modulepreload" href="/static/([^"]+)"', page)
    scripts = re.findall(r'<script type="module" src="/static/([^"]+)"', page)

    imported = find_imports("app.js", set()) | find_imports("pages/sessions.js", set())
    assert sorted(links) == links
    assert {*links, *scripts} == imported
