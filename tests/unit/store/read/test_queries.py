"""The store's reader satisfies the contract that queries are written against.

mypy checks the types, where `app.py` gives the reader to queries.
"""

from __future__ import annotations

import ast
from inspect import signature
from pathlib import Path

import pytest

import leslied.queries
from leslied.store import StoreQueries, StoreReader
from leslied.store.read.change_feed import ChangeFeed
from leslied.store.read.queries import (
    FeedProtocol,
    SearchProtocol,
    SizesProtocol,
    UsageProtocol,
)
from leslied.store.read.search import Search
from leslied.store.read.size_queries import SizeQueries
from leslied.store.read.usage_queries import UsageQueries


@pytest.mark.parametrize(
    ("protocol", "implementation"),
    [
        (StoreQueries, StoreReader),
        (UsageProtocol, UsageQueries),
        (FeedProtocol, ChangeFeed),
        (SizesProtocol, SizeQueries),
        (SearchProtocol, Search),
    ],
)
def test_the_reader_has_every_method_of_the_contract(
    protocol: type, implementation: type
):
    methods = {
        name: method
        for name, method in vars(protocol).items()
        if callable(method) and (not name.startswith("_") or name == "__exit__")
    }

    assert methods
    for name, method in methods.items():
        parameters = signature(getattr(implementation, name)).parameters
        assert list(parameters) == list(signature(method).parameters)


def test_queries_do_not_name_the_reader_of_sqlite():
    """Only the SQL of scripts is about SQLite."""
    folder = Path(leslied.queries.__file__).parent
    modules = {
        path.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id in ("StoreReader", "SqlReader")
    }

    assert modules == {"scripts.py"}
