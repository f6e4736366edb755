"""The lock file, the build hook and the workflows: what runs before leslied does."""

from __future__ import annotations

import re

import pytest

from hatch_build import LockedPackage, parse_lock, select_runtime
from tests.support.audit import run_audit, summarize_audit
from tests.support.docs import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.threat("X6")
def test_every_locked_package_has_a_hash():
    requirements = re.findall(r"^[A-Za-z0-9].*", LOCK, re.MULTILINE)
    packages = parse_lock(LOCK)

    assert len(packages) == len(requirements) > 20
    assert [package.name for package in packages if not package.hashes] == []


def test_a_package_is_parsed_with_the_reasons_for_it():
    text = (
        "a==1.0 ; sys_platform != 'x' \\\n"
        f"    --hash=sha256:{'0' * 64} \\\n"
        f"    --hash=sha256:{'1' * 64}\n"
        "    # via b\n"
        "b==2.0 \\\n"
        f"    --hash=sha256:{'2' * 64}\n"
        "    # via\n"
        "    #   c\n"
        "    #   leslied (pyproject.toml)\n"
    )

    assert parse_lock(text) == [
        LockedPackage("a", "1.0", ("0" * 64, "1" * 64), ("b",)),
        LockedPackage("b", "2.0", ("2" * 64,), ("c", "leslied (pyproject.toml)")),
    ]


def test_packages_for_development_are_no_runtime_dependencies():
    packages = [
        LockedPackage("tool", "1", (), ("leslied (pyproject.toml:dev)",)),
        LockedPackage("direct", "1", (), ("tool", "leslied (pyproject.toml)")),
        LockedPackage("indirect", "1", (), ("direct",)),
        LockedPackage("deep", "1", (), ("indirect",)),
        LockedPackage("of-tool", "1", (), ("tool",)),
    ]

    names = [package.name for package in select_runtime(packages)]

    assert names == ["direct", "indirect", "deep"]


@pytest.mark.threat("X6")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_can_only_read_and_has_no_secrets(path):
    text = path.read_text("utf-8")

    assert "\npermissions:\n  contents: read\n\n" in text
    assert text.count("permissions:") == 1
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
    assert not re.search(r"secrets\.|pull_request_target|workflow_run", text)


@pytest.mark.threat("X6")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_the_version_of_every_action(path):
    actions = re.findall(r"uses: (\S+)", path.read_text("utf-8"))

    assert actions
    assert all(re.search(r"@(v\d|[0-9a-f]{40})", action) for action in actions)


@pytest.mark.parametrize(
    ("packages", "message", "code"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], "No vulnerability is known", 0),
        ([{"name": "a", "skip_reason": "not found"}], "1 of 1 packages could not", 2),
        (
            [
                {"name": "a", "skip_reason": "not found"},
                {
                    "name": "b",
                    "version": "1",
                    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}],
                },
            ],
            "b 1: PYSEC-1, fixed in 2",
            1,
        ),
    ],
    ids=["no vulnerability", "not audited", "a vulnerability"],
)
def test_an_audit_is_summarized(packages, message: str, code: int):
    lines, exit_code = summarize_audit({"dependencies": packages})

    assert lines[0].startswith(message)
    assert exit_code == code


@pytest.mark.parametrize("program", ["false", "echo"])
def test_an_audit_without_a_report_is_explained(program: str):
    lines, exit_code = run_audit(program, "requirements.lock")

    assert lines[0].startswith("The packages could not be audited: ")
    assert exit_code == 2
