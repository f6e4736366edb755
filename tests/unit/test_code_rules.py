"""Rules for the code that no linter checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp
import pytest

from leslied.agents import load_adapters
from leslied.sinks import load_sinks

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULE_LINES, MAX_FUNCTION_LINES = 400, 40
BANNED = re.compile(r"\.splitlines\(|\bmmap\b")
CODE_MODULES = {"code", "ctypes", "dill", "marshal", "pickle", "shelve", "yaml"}
CODE_CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen"),
    *("subprocess.getoutput", "subprocess.getstatusoutput"),
}

PER_AGENT_PACKAGES = ("leslied/agents/", "leslied/hooks/")
ROW_NAME = re.compile(r"(^|_)(row|rows|values|columns)$")
ALLOWED_AGENT_NAMES = {
    # Help texts, and examples in them.
    "leslied/cli/__init__.py": 2,
    "leslied/cli/commands/import_.py": 1,
    "leslied/cli/commands/resume.py": 2,
    "leslied/cli/commands/stats.py": 2,
    "leslied/model/field_tables.py": 1,
    # The demo writes the log of a certain agent.
    "leslied/cli/commands/demo.py": 1,
    # Model names, too, start with the name of an agent.
    "leslied/rendering/humanize.py": 1,
    # The name of a service contains the name of an agent.
    "leslied/redact/rules/named.py": 4,
    "leslied/redact/rules/structures.py": 1,
    # The files that agents and projects use are per agent by nature.
    "leslied/cli/commands/init.py": 6,
    "leslied/model/project_markers.py": 2,
}
"""How many strings of a module contain the name of an agent."""


@dataclass(frozen=True)
class Module:
    """One source file, read and parsed once for all rules."""

    name: str
    lines: list[str]
    tree: ast.Module

    @classmethod
    def read(cls, path: Path) -> Module:
        text = path.read_text()
        return cls(str(path.relative_to(ROOT)), text.split("\n"), ast.parse(text))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def strings(self) -> Iterator[ast.Constant]:
        """Yield the string literals, without docstrings and descriptions."""
        descriptions = {
            id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)
        }
        for node in ast.walk(self.tree):
            is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_string and id(node) not in descriptions:
                yield node


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    """Read all modules of `leslied`."""
    paths = sorted((ROOT / "leslied").rglob("*.py"))

    assert paths
    return [Module.read(path) for path in paths]


def fail_with(violations: list[str], rule: str) -> None:
    """Fail with all violations in one message; do nothing if there are none."""
    if violations:
        pytest.fail("\n  ".join([f"{rule}:", *violations]), pytrace=False)


def test_modules_are_short(modules: list[Module]):
    violations = [
        f"{module.name}: {len(module.lines)} lines"
        for module in modules
        if len(module.lines) > MAX_MODULE_LINES
    ]

    fail_with(violations, f"A module has at most {MAX_MODULE_LINES} lines")


def test_functions_are_short(modules: list[Module]):
    violations = [
        f"{module.name}:{function.lineno}: {function.name}, {lines} lines"
        for module in modules
        for function in module.functions()
        if (lines := count_lines(function)) > MAX_FUNCTION_LINES
    ]

    fail_with(violations, f"A function has at most {MAX_FUNCTION_LINES} lines")


def test_a_class_name_belongs_to_one_class(modules: list[Module]):
    names: dict[str, list[str]] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                names.setdefault(node.name, []).append(module.name)
    violations = [
        f"{name}: {', '.join(places)}"
        for name, places in names.items()
        if len(places) > 1
    ]

    fail_with(violations, "A class name belongs to one class")


@pytest.mark.fault("A13", "B19")
def test_no_module_makes_a_dangerous_call(modules: list[Module]):
    """No splitlines, no mmap."""
    violations = [
        f"{module.name}:{number}: {line.strip()}"
        for module in modules
        for number, line in enumerate(module.lines, 1)
        if BANNED.search(line)
    ]

    fail_with(violations, "These calls are banned")


def iter_data_as_code(tree: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """Yield imports and calls that can run data as code or start a shell."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                if CODE_MODULES & {alias.name.partition(".")[0] for alias in names}:
                    yield node
            case ast.ImportFrom(module=str(name)):
                if name.partition(".")[0] in CODE_MODULES | {"subprocess"}:
                    yield node
            case ast.Call(func=function, keywords=keywords):
                name = ast.unparse(function)
                has_shell = any(keyword.arg == "shell" for keyword in keywords)
                if name in CODE_CALLS or (has_shell and "subprocess" in name):
                    yield node


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "import os, yaml.constructor",
        "from marshal import loads",
        "from subprocess import run",
        "eval(text)",
        "__import__(name)",
        "os.system(command)",
        "subprocess.run(command, shell=True)",
    ],
)
def test_code_that_runs_data_is_recognized(code: str):
    assert list(iter_data_as_code(ast.parse(code)))


@pytest.mark.threat("X4")
def test_no_module_runs_data_as_code(modules: list[Module]):
    violations = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in modules
        for node in iter_data_as_code(module.tree)
    ]

    fail_with(violations, "Data is never run as code, and no shell is started")


def test_only_adapters_and_hooks_name_agents(modules: list[Module]):
    adapters = load_adapters().values()
    # A format that leslied writes, too, is named where it is written.
    agents = [adapter for adapter in adapters if adapter.name not in load_sinks()]
    words = {re.split("[- ]", text)[0] for a in agents for text in (a.name, a.title)}
    words -= {"continue", "Continue"}  # An ordinary word of many messages.
    words -= {"amp", "Amp"}  # The name of the character `&` in HTML.
    words -= {"cursor", "Cursor"}  # How far a source was read, and the mouse's.
    # A short name is part of many other words.
    names = [w if len(w) > 3 else rf"(?<![a-z]){w}(?![a-z])" for w in words]
    name = re.compile("|".join(names), re.IGNORECASE)
    counts = {
        module.name: sum(bool(name.search(string.value)) for string in module.strings())
        for module in modules
        if not module.name.startswith(PER_AGENT_PACKAGES)
    }

    assert {name: n for name, n in counts.items() if n} == ALLOWED_AGENT_NAMES


def test_only_the_layout_spells_paths_below_leslie(modules: list[Module]):
    path = re.compile(r"(^|/)\.leslie($|/)|(^|/)\.meta($|/)")
    violations = [
        f"{module.name}:{node.lineno}: {node.value}"
        for module in modules
        for node in module.strings()
        if path.search(node.value) and module.name != "leslied/layout.py"
    ]

    fail_with(violations, "leslied/layout.py spells all paths below `.leslie`")


def is_answer_in_json_form(node: ast.expr) -> bool:
    """Return whether the code is `answer.to_dict`, or a lambda that calls it."""
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call):
        node = node.body.func
    return isinstance(node, ast.Attribute) and node.attr == "to_dict"


def test_no_command_builds_its_own_json(modules: list[Module]):
    """Commands print the JSON form of an answer, and define no JSON form."""
    commands = [m for m in modules if m.name.startswith("leslied/cli/")]
    calls = [
        (module, node)
        for module in commands
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("emit")
    ]
    violations = [
        f"{module.name}:{call.lineno}: {ast.unparse(call.args[0])}"
        for module, call in calls
        if not is_answer_in_json_form(call.args[0])
    ]
    violations += [
        f"{module.name}:{function.lineno}: {function.name}"
        for module in commands
        for function in module.functions()
        if function.name.endswith(("to_dict", "to_dicts"))
    ]

    assert len(calls) > 30
    fail_with(violations, "An answer in queries, jobs or model has the JSON form")


@pytest.mark.parametrize(
    ("pattern", "owner"),
    [
        (r"datetime\(1970", "leslied/model/times.py"),
        (r"timestamp\(\) \* 1", "leslied/model/times.py"),
        (r"\\u2066", "leslied/control_characters.py"),
        (
            r"Event\(\)\.wait|stopping\.wait|select\(\[\], \[\], \[\]",
            "leslied/clock.py",
        ),
    ],
)
def test_a_fact_is_written_down_in_one_module(
    modules: list[Module], pattern: str, owner: str
):
    violations = [
        f"{module.name}:{number}: {line.strip()}"
        for module in modules
        for number, line in enumerate(module.lines, 1)
        if module.name != owner and re.search(pattern, line)
    ]

    fail_with(violations, f"{owner} decides this")


def is_position(index: ast.expr) -> bool:
    """Return whether an index is an integer literal, or a slice with one."""
    if isinstance(index, ast.Slice):
        return any(is_position(end) for end in (index.lower, index.upper) if end)
    if isinstance(index, ast.UnaryOp):
        return is_position(index.operand)
    return isinstance(index, ast.Constant) and isinstance(index.value, int)


def iter_row_positions(tree: ast.AST) -> Iterator[ast.Subscript | ast.Call]:
    """Yield subscripts of rows by position, and `itemgetter` with a position."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if ROW_NAME.search(name) and is_position(index):
                    yield node
            case ast.Subscript(value=ast.Call(func=ast.Attribute(attr=name))):
                if name in {"fetchone", "fetchall"}:
                    yield node
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=name))):
                if ROW_NAME.search(name):
                    yield node
            case ast.Call(func=ast.Name(id="itemgetter"), args=args):
                if any(map(is_position, args)):
                    yield node


@pytest.mark.parametrize(
    "code",
    [
        "row[0]",
        "rows[-1][0]",
        "name_row[1:]",
        "values[:3]",
        "db.execute(q).fetchone()[0]",
        "itemgetter(0, 1)",
    ],
)
def test_reading_a_row_by_position_is_recognized(code: str):
    assert list(iter_row_positions(ast.parse(code)))


@pytest.mark.parametrize("code", ["rows[start:end]", "row['a']", "text[1:-1]"])
def test_other_subscripts_are_not_taken_for_row_positions(code: str):
    assert not list(iter_row_positions(ast.parse(code)))


def test_the_store_reads_rows_by_name(modules: list[Module]):
    violations = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in modules
        if module.name.startswith("leslied/store/")
        for node in iter_row_positions(module.tree)
    ]

    fail_with(violations, "Unpack a row into names; positions change with the query")


def test_the_index_lists_every_decision_record():
    decisions = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()

    assert decisions
    assert all(path.name in index for path in decisions)


def test_no_module_imports_itself_through_others():
    """Imports below a function and for types only count, too."""
    graph = grimp.build_graph("leslied")
    cycles = [
        " -> ".join(chain)
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if (chain := graph.find_shortest_chain(imported, module)) is not None
    ]

    fail_with(cycles, "these imports form a cycle")
