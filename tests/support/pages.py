"""A sample session with every kind of entry, for tests of pages."""

from __future__ import annotations

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

ANSWER = """## What was wrong

The parser drops the last line when there is **no newline** at its end:
`read_lines()` throws the rest away, also of a `List<T>` <b>like this</b>.

1. `parser.py` keeps the rest
2. 長い行は端末の幅できちんと折り返されるべきです。絵文字も 🎉 です。

```python
def close(self) -> list[str]:
    return [self._rest]  # all of it


x = 42
```

| file | lines |
|---|---:|
| `parser.py` | 12 |

See [the issue](https://example.org/12) and ![it](https://example.org/p.png).
"""
OLD_CODE = "def read_lines(text):\n    return text.split('\\n')[:-1]\n\n# end"
NEW_CODE = (
    "def read_lines(text):\n    lines = text.split('\\n')\n    return lines\n\n# end"
)


def write_sample_session(claude: ClaudeHome) -> None:
    """Write prompts, thinking, tool calls, edits, an error and a subagent."""
    builder = ClaudeLogBuilder()
    failed_result = builder.result("c5", "No module named 'app'")
    failed_result["message"]["content"][0]["is_error"] = True
    code_path = "/home/dev/app/src/parser.py"
    task = {"description": "Look for callers", "prompt": "Find all callers."}
    claude.write(
        builder.prompt(
            "The parser loses the last line.\n\n" + "Please find out why. " * 5
        ),
        builder.think("I should look at the parser first."),
        builder.answer("I'll look at it.", stop_reason="tool_use"),
        builder.call("Bash", {"command": "grep -rn split src | head -20"}, "c1"),
        builder.result(
            "c1", "\n".join(f"src/parser.py:{n}: split " * 5 for n in "12345")
        ),
        builder.call("Task", task, "c2"),
        builder.result("c2", "One caller.", toolUseResult={"agentId": "a5c0041"}),
        builder.call(
            "Edit",
            {"file_path": code_path, "old_string": OLD_CODE, "new_string": NEW_CODE},
            "c3",
        ),
        builder.result("c3", f"The file {code_path} has been updated."),
        builder.call(
            "Write", {"file_path": "/tmp/n.txt", "content": "one\n" * 20}, "c4"
        ),
        builder.result("c4", "File created."),
        builder.call("Bash", {"command": "pytest -q"}, "c5"),
        failed_result,
        builder.answer(ANSWER),
        builder.prompt("thanks"),
        builder.answer("Gladly."),
    )
    _write_subagent(claude)


def _write_subagent(claude: ClaudeHome) -> None:
    # Line ids must differ from those of the main session, which has the same id.
    builder = ClaudeLogBuilder(first_number=100)
    lines = [
        builder.prompt("Find all callers."),
        builder.call("Grep", {"pattern": "read_lines", "path": "/home/dev/app"}, "s1"),
        builder.result("s1", "a.py:1"),
        builder.answer("One caller: `a.py`"),
    ]
    folder = f"-home-dev-app/{SESSION}/subagents"
    claude.write(
        *(line | {"isSidechain": True, "agentId": "a5c0041"} for line in lines),
        name=f"{folder}/agent-a5c0041.jsonl",
    )
