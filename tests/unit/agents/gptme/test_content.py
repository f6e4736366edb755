"""Thoughts and calls in the text of gptme's answers."""

from __future__ import annotations

import pytest

from leslied.agents.gptme.content import Part, iter_parts, parse_result


def list_parts(text: str) -> list[Part]:
    return list(iter_parts(text))


def test_plain_text_is_one_part():
    assert list_parts(" Hello.\n") == [Part("Hello.")]


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_a_thought_comes_before_the_text(tag: str):
    assert list_parts(f"<{tag}>\nHm.\n</{tag}>\n\nYes.") == [
        Part("Hm.", is_thought=True),
        Part("Yes."),
    ]


def test_a_block_of_another_language_is_text():
    text = "See:\n\n```python\nprint(1)\n```\n\nand\n\n```\nplain\n```"

    assert list_parts(text) == [Part(text)]


def test_a_call_in_an_example_is_text():
    text = "````markdown\n```shell\nls\n```\n````"

    assert list_parts(text) == [Part(text)]


def test_a_block_may_contain_blocks():
    text = "```save a.md\n```sh\nls\n```\n~\n```\nDone."

    assert list_parts(text) == [
        Part(tool="save", arguments={"path": "a.md", "content": "```sh\nls\n```\n~"}),
        Part("Done."),
    ]


@pytest.mark.parametrize(
    ("block", "tool", "arguments"),
    [
        ("shell\nls", "shell", {"command": "ls"}),
        ("py\n1", "ipython", {"code": "1"}),
        ("append a b.txt\nx", "append", {"path": "a b.txt", "content": "x"}),
        ("todo read\n", "todo", {"args": "read"}),
        ("patch a.py\nno markers", "patch", {"path": "a.py", "input": "no markers"}),
    ],
)
def test_a_block_has_named_arguments(block: str, tool: str, arguments: dict[str, str]):
    assert list_parts(f"```{block}\n```") == [Part(tool=tool, arguments=arguments)]


def test_a_patch_with_one_change_is_an_edit():
    body = "<<<<<<< ORIGINAL\na\n=======\nb\nc\n>>>>>>> UPDATED"

    (call,) = list_parts(f"```patch x.py\n{body}\n```")
    assert call.arguments == {"path": "x.py", "old_string": "a", "new_string": "b\nc"}


CHANGE = "<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED"


@pytest.mark.parametrize(
    "body", [f"{CHANGE}\n{CHANGE}", CHANGE.replace("UPDATED", ""), f"x\n{CHANGE}"]
)
def test_a_patch_of_another_form_is_kept_as_it_is(body: str):
    (call,) = list_parts(f"```patch x.py\n{body}\n```")

    assert call.arguments == {"path": "x.py", "input": body}


def test_calls_with_ids_follow_each_other():
    text = '@shell(c1): {"command": "a {"}\n@save(c2): {\n"path": "b"}'

    assert list_parts(text) == [
        Part(tool="shell", call_id="c1", arguments='{"command": "a {"}'),
        Part(tool="save", call_id="c2", arguments='{\n"path": "b"}'),
    ]


def test_an_element_is_a_call():
    text = '<tool-use>\n<save path="a.txt">\nx\n</save>\n</tool-use>'

    assert list_parts(text) == [
        Part(tool="save", arguments={"path": "a.txt", "content": "x"})
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```shell\nls",
        "<think>\nHm.",
        '@shell(c1): {"command"',
        "<tool-use>\n<shell>\nls",
        "```shell\n" * 20_000,
        "<think>" + "[" * 100_000,
    ],
)
def test_a_part_without_an_end_is_text(text: str):
    assert list_parts(text) == [Part(text.strip())]


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("Ran command: `ls`\n\n`a`\n\n", "a"),
        ("Ran allowlisted command: `ls`\n\n```stdout\na\nb\n```\n\n", "a\nb"),
        ("Ran command:\n```bash\nls\ncat\n```\n\nNo output\n", "No output"),
        ("Command timed out (after 5s): `ls`\n\n`a`\n\n", "a"),
    ],
)
def test_the_report_is_only_the_output_of_the_tool(text: str, report: str):
    assert parse_result(text) == (text.strip(), {"report": report})


def test_a_return_code_marks_a_failure():
    text, metadata = parse_result("Ran command: `x`\n\n`no`\n\nReturn code: 3\n")

    assert text == "Exit code 3\nRan command: `x`\n\n`no`"
    assert metadata == {"is_error": True, "exit_code": 3, "report": "Exit code 3\nno"}


def test_an_error_of_a_tool_is_an_error():
    assert parse_result("Error: no path") == ("Error: no path", {"is_error": True})
