"""Files that a shell command certainly wrote."""

from __future__ import annotations

import pytest

from leslied.sessions.shell import find_writes


def list_writes(command: str) -> list[tuple[str, str, str | None]]:
    return [(write.path, write.mode, write.folder) for write in find_writes(command)]


@pytest.mark.parametrize(
    ("command", "path", "mode"),
    [
        ("echo hi > plan.md", "plan.md", "write"),
        ("echo hi >plan.md", "plan.md", "write"),
        ("echo hi >> plan.md", "plan.md", "append"),
        ("echo hi >| plan.md", "plan.md", "write"),
        ("make &> build.log", "build.log", "write"),
        ("make 2> errors.txt", "errors.txt", "write"),
        ("make > 'a b.md'", "a b.md", "write"),
        ('make > "a b.md"', "a b.md", "write"),
        ("make > a\\ b.md", "a b.md", "write"),
        ("> empty.md", "empty.md", "write"),
        ("echo '$HOME `x` $(y)' > plan.md", "plan.md", "write"),
        ("ls | tee plan.md", "plan.md", "write"),
        ("ls | tee -a plan.md", "plan.md", "append"),
        ("ls | tee plan.md > /dev/null", "/dev/null", "write"),
        ("mkdir -p a && echo hi > plan.md", "plan.md", "write"),
        ("ls; echo hi > plan.md", "plan.md", "write"),
        ("echo hi > plan.md; ls", "plan.md", "write"),
        ("echo hi > plan.md || true", "plan.md", "write"),
        ("echo hi > plan.md  # later > other.md", "plan.md", "write"),
        ("echo $WHO > plan.md", "plan.md", "write"),
        ("echo hi \\\n  > plan.md", "plan.md", "write"),
    ],
)
def test_a_literal_redirection_is_found(command: str, path: str, mode: str):
    assert (path, mode, "") in list_writes(command)


@pytest.mark.parametrize("delimiter", ["EOF", "'EOF'", '"EOF"'])
def test_the_contents_of_a_heredoc_are_ignored(delimiter: str):
    command = f"cat > plan.md <<{delimiter}\n# it's a `plan` > not.md\n$(odd)\nEOF\n"

    assert list_writes(command) == [("plan.md", "write", "")]


def test_commands_after_a_heredoc_are_parsed():
    command = "cat <<EOF > a.md\n> no.md\nEOF\ncat <<-X >> b.md\n\tx\n\tX\necho done"

    assert list_writes(command) == [("a.md", "write", ""), ("b.md", "append", "")]


@pytest.mark.parametrize(
    "command",
    [
        "if true; then echo > plan.md; fi",
        "for f in a b; do echo > plan.md; done",
        "(cd x; echo > plan.md)",
        "echo $(date) > plan.md",
        "echo `date` > plan.md",
        "echo > $FILE",
        'echo > "$FILE"',
        "echo > ~/plan.md",
        "echo > plan-*.md",
        "echo > {a,b}.md",
        "true || echo > plan.md",
        "true && echo > plan.md; ls",
        "sleep 9 > plan.md &",
        "echo '> plan.md",
        'echo "> plan.md',
        "cat > plan.md <<EOF\nnever ended",
        "cat < plan.md",
        "echo hi >&2",
        "make 2>&1",
        "ls | tee --output-error plan.md",
        "exec > plan.md",
        "eval 'echo > plan.md'",
        "grep '>' plan.md",
        "diff <(ls) plan.md",
        "cat <> plan.md",
        "set -e; echo > plan.md",
        "echo >",
        "&& echo > plan.md",
        "echo hi\0 > plan.md",
    ],
)
def test_an_uncertain_write_is_omitted(command: str):
    assert list_writes(command) == []


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd notes && echo > plan.md", "notes"),
        ("cd notes && cd old && echo > plan.md", "notes/old"),
        ("cd a && cd /srv && echo > plan.md", "/srv"),
        ("cd notes; echo > plan.md", None),
        ("cd $WHERE && echo > plan.md", None),
        ("cd && echo > plan.md", None),
        ("cd - && echo > plan.md", None),
        ("pushd notes && echo > plan.md", None),
        ("false || cd notes; echo > plan.md", None),
        ("cd notes | true && echo > plan.md", None),
    ],
)
def test_the_folder_is_known_only_if_cd_certainly_succeeded(
    command: str, folder: str | None
):
    assert list_writes(command) == [("plan.md", "write", folder)]
