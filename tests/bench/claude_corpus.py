"""Invent sessions of Claude Code: what is said, called and answered."""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec

from tests.support.claude import ClaudeLogBuilder

RARE_WORD = "quokkaphylax"
COMMON_WORDS = """
the to of and a in is handler that for it with as on this be are session file function
return value test error not from import class if then else message parse index write
read config path line token request response should update check fix add remove change
call method module async await buffer stream cache query table column schema worker
queue event watch
""".split()  # noqa: SIM905 - a list of so many strings is hard to read
VOCABULARY_SIZE = 20_000
POOL_CHARACTERS = 1_500_000
IMAGE_BYTES = 1_000_000
MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929")
RESULT_SIZES = (
    (700, 80, 2_000),
    (200, 2_000, 10_000),
    (75, 10_000, 50_000),
    (12, 50_000, 200_000),
)
"""Weight, least and largest size of tool results."""
TOOLS = {"Bash": 34, "Read": 26, "Edit": 18, "Grep": 10, "Write": 5, "WebFetch": 2}
IMAGE_RATE = 0.006
"""Share of read files that are images."""


def make_uuid(rng: Random) -> str:
    text = f"{rng.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def draw_size(rng: Random, least: int, largest: int) -> int:
    """Draw a size; small ones are as much more frequent as they are smaller."""
    return int(least * (largest / least) ** rng.random())


class Text:
    """Words, prose, code and program output, cut from texts made in advance."""

    def __init__(self, rng: Random) -> None:
        syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
        vocabulary = dict.fromkeys(COMMON_WORDS)
        while len(vocabulary) < VOCABULARY_SIZE:
            vocabulary["".join(rng.choices(syllables, k=rng.choice((2, 3, 3, 4))))] = (
                None
            )
        self._vocabulary = list(vocabulary)
        ranks = range(3, VOCABULARY_SIZE + 3)
        self._weights = list(itertools.accumulate(1 / rank for rank in ranks))
        makers = {"prose": _make_prose, "code": _make_code, "output": _make_output}
        self._pools = {
            kind: self._fill_pool(rng, maker) for kind, maker in makers.items()
        }
        self._pixels = base64.b64encode(rng.randbytes(IMAGE_BYTES)).decode()

    def _fill_pool(
        self, rng: Random, make_line: Callable[[Random, list[str]], str]
    ) -> str:
        lines: list[str] = []
        size = 0
        while size < POOL_CHARACTERS:
            lines.append(make_line(rng, self._draw_words(rng, 12)))
            size += len(lines[-1])
        return "".join(lines)

    def _draw_words(self, rng: Random, count: int) -> list[str]:
        return rng.choices(self._vocabulary, cum_weights=self._weights, k=count)

    def words(self, rng: Random, count: int) -> str:
        return " ".join(self._draw_words(rng, count))

    def take(self, rng: Random, kind: str, size: int) -> str:
        """Return about `size` characters, with identifiers that occur only here."""
        pool, parts = self._pools[kind], []
        for step in range(0, size, 3_000):
            length = min(size - step, 3_000)
            start = rng.randrange(len(pool) - length)
            parts.append(f"{pool[start : start + length]} id_{rng.getrandbits(36):09x}")
        return " ".join(parts)

    def image(self, size: int) -> str:
        return self._pixels[: size // 4 * 4]


def _make_prose(rng: Random, words: list[str]) -> str:
    mark = rng.choice(("", "", "", "", " — ", " → ", " “naïve” ", " ✓ ", " 日本語 "))
    end = rng.choice((". ", ". ", ".\n\n", ":\n- "))
    code = f"`{words[1]}_{words[2]}()` " if rng.random() < 0.1 else ""
    return code + " ".join(words[rng.randrange(6) :]).capitalize() + mark + end


def _make_code(rng: Random, words: list[str]) -> str:
    a, b, c, d = words[:4]
    line = rng.choice(
        (
            f"def {a}_{b}(self, {c}: str, {d}: int = {rng.randint(0, 99)}) -> None:",
            f'{a}.{b}["{c}"] = {d}("{a}", {rng.randint(0, 9999)})',
            f'if {a} is not None and "{b}" in {c}:',
            f'return {{"{a}": {b}, "{c}": [{d}, "{a}"]}}',
            f"\tconst {a} = await {b}.{c}(`${{{d}}}`);",
            f"# {a} {b} {c} {d}",
            "",
        )
    )
    return "    " * rng.randrange(5) + line + "\n"


def _make_output(rng: Random, words: list[str]) -> str:
    a, b, c = words[:3]
    return rng.choice(
        (
            f"2026-07-{rng.randint(10, 28)} 10:24:31 INFO {a}.{b}: {c} took 0.2 s\n",
            f"tests/test_{a}.py::test_{b}_{c} PASSED   [ {rng.randint(1, 99)}%]\n",
            f'  File "/home/dev/src/{a}/{b}.py", line {rng.randint(1, 900)}, in {c}\n',
            f'src/{a}/{b}.ts:{rng.randint(1, 900)}: {c} "{a}"\n',
            f"\x1b[32m✓\x1b[0m {a} {b} {c}\n",
        )
    )


class Conversation:
    """The lines of a log, and the subagents that were started in it."""

    def __init__(
        self,
        text: Text,
        session_id: str,
        cwd: str,
        started_at: datetime,
        *,
        agent_id: str = "",
        is_small: bool = False,
        first_word: str = "",
    ) -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.lines: list[bytes] = []
        self.size = 0
        self.usage: Counter[str] = Counter()
        self.subagents: list[Conversation] = []
        self._text = text
        self._rng = Random(f"{session_id} {agent_id}")
        # The ids of lines follow from the name, and a subagent's are different ones.
        name = f"{session_id}/{agent_id}" if agent_id else session_id
        self._builder = ClaudeLogBuilder(name, cwd, started_at)
        self._is_small = is_small
        self._first_word = first_word
        self._model = self._rng.choice(MODELS)
        self._context = self._rng.randint(12_000, 25_000)

    @property
    def end_time(self) -> float:
        """When the last line was written, in seconds since 1970."""
        start = self._builder.started_at.replace(tzinfo=UTC)
        return start.timestamp() + len(self.lines)

    def add_turns(self, lines: int, subagents: int) -> None:
        """Add turns until there are so many lines."""
        while len(self.lines) < lines:
            self._add_prompt()
            for _ in range(1 if self._is_small else self._rng.randint(1, 25)):
                has_subagent = len(self.subagents) < subagents and (
                    self._is_small or self._rng.random() < 0.08
                )
                for call in self._add_message(has_subagent=has_subagent):
                    self._add_result(call)
                if len(self.lines) >= lines:
                    break
            self._add_message(is_last=True)
            if not self.agent_id:
                self._add("system", subtype="turn_duration", durationMs=41_000)

    def add_long_turn(self, size: int) -> None:
        """Add a turn with a tool result that is one line of `size` bytes."""
        self._add_prompt()
        (call,) = self._add_calls(["Bash"])
        result = self._text.take(self._rng, self._rng.choice(("code", "prose")), size)
        self._add_user([_make_result(call, result[: size - 1_000])])
        self._add_message(is_last=True)

    def _add(self, type_: str, **fields: Any) -> None:
        fields["sessionId"] = self.session_id
        if self.agent_id:
            fields |= {"isSidechain": True, "agentId": self.agent_id}
        entry = self._builder.line(type_, userType="external", **fields)
        self.lines.append(msgspec.json.encode(entry) + b"\n")
        self.size += len(self.lines[-1])

    def _add_user(self, content: Any, **fields: Any) -> None:
        self._add("user", message={"role": "user", "content": content}, **fields)

    def _add_prompt(self) -> None:
        size = draw_size(self._rng, 30, 400 if self._is_small else 3_000)
        prompt = f"{self._first_word} {self._text.take(self._rng, 'prose', size)}"
        self._first_word = ""
        self._add_user(prompt.strip())

    def _add_message(
        self, *, is_last: bool = False, has_subagent: bool = False
    ) -> list[dict[str, Any]]:
        """Add a message, one line for each block; return its calls."""
        rng, limit = self._rng, 700 if self._is_small else 4_000
        blocks: list[dict[str, Any]] = []
        if rng.random() < 0.35:
            thinking = self._text.take(rng, "prose", draw_size(rng, 150, limit))
            signature = base64.b64encode(rng.randbytes(300)).decode()
            blocks.append(
                {"type": "thinking", "thinking": thinking, "signature": signature}
            )
        if is_last or rng.random() < 0.5:
            words = self._text.take(rng, "prose", draw_size(rng, 80, limit))
            blocks.append({"type": "text", "text": words})
        if is_last:
            return self._add_blocks(blocks, "end_turn")
        count = 1 if has_subagent or rng.random() < 0.85 else rng.randint(2, 4)
        names = rng.choices(list(TOOLS), list(TOOLS.values()), k=count)
        return self._add_calls(["Task"] if has_subagent else names, blocks)

    def _add_calls(
        self, names: list[str], blocks: list[dict[str, Any]] | None = None
    ) -> list[dict[str, Any]]:
        calls = [
            {
                "type": "tool_use",
                "id": f"toolu_01{self._rng.getrandbits(96):024x}",
                "name": name,
                "input": self._make_input(name),
            }
            for name in names
        ]
        return self._add_blocks([*(blocks or []), *calls], "tool_use")

    def _add_blocks(
        self, blocks: list[dict[str, Any]], stop_reason: str
    ) -> list[dict[str, Any]]:
        """Add a line for each block; all lines have the usage of the message."""
        rng, number = self._rng, self._rng.getrandbits(96)
        usage = {
            "input_tokens": rng.randint(1, 12),
            "cache_creation_input_tokens": rng.randint(200, 9_000),
            "cache_read_input_tokens": self._context,
            "output_tokens": rng.randint(20, 2_500),
        }
        self.usage.update(usage)
        self._context = min(
            self._context + usage["cache_creation_input_tokens"], 180_000
        )
        message = {
            "model": self._model,
            "id": f"msg_01{number:024x}",
            "type": "message",
            "role": "assistant",
            "usage": usage,
        }
        for block in blocks:
            reason = stop_reason if block is blocks[-1] else None
            content = {"content": [block], "stop_reason": reason}
            request = f"req_01{number:024x}"
            self._add("assistant", message=message | content, requestId=request)
        return [block for block in blocks if block["type"] == "tool_use"]

    def _make_input(self, name: str) -> dict[str, Any]:
        rng, text = self._rng, self._text
        path = f"{self._builder.cwd}/src/{text.words(rng, 1)}.py"
        code_size = draw_size(rng, 60, 300 if self._is_small else 2_500)
        match name:
            case "Read":
                return {"file_path": path, "offset": rng.randint(1, 400)}
            case "Edit":
                old, new = (text.take(rng, "code", code_size) for _ in range(2))
                return {"file_path": path, "old_string": old, "new_string": new}
            case "Write":
                content = text.take(rng, "code", code_size * 4)
                return {"file_path": path, "content": content}
            case "Grep":
                return {"pattern": text.words(rng, 1), "path": self._builder.cwd}
            case "WebFetch":
                url = f"https://example.invalid/{text.words(rng, 1)}"
                return {"url": url, "prompt": text.words(rng, 12)}
            case "Task":
                prompt = text.take(rng, "prose", 900)
                return {"description": text.words(rng, 4), "prompt": prompt}
        command = f"rg -n {text.words(rng, 1)} src | head -{rng.randint(5, 90)}"
        return {"command": command, "description": text.words(rng, 5)}

    def _add_result(self, call: dict[str, Any]) -> None:
        """Add a result as Claude Code does: for the model, and again for itself."""
        rng, name, input_ = self._rng, call["name"], call["input"]
        if self._is_small:
            size = draw_size(rng, 60, 500)
        else:
            weights = [weight for weight, _, _ in RESULT_SIZES]
            _, *limits = rng.choices(RESULT_SIZES, weights)[0]
            size = draw_size(rng, *limits)
        content: Any
        if name == "Read" and rng.random() < IMAGE_RATE and not self._is_small:
            data = self._text.image(rng.randint(700_000, 1_300_000))
            source = {"type": "base64", "media_type": "image/png", "data": data}
            content = [{"type": "image", "source": source}]
            extra = {"type": "image", "file": {"base64": data[:40_000]}}
        elif name == "Read":
            body = self._text.take(rng, "code", size)
            lines = enumerate(body.split("\n"), 1)
            content = "\n".join(f"{number:6d}→{line}" for number, line in lines)
            file = {"filePath": input_["file_path"], "content": body}
            extra = {"type": "text", "file": file}
        elif name in ("Edit", "Write"):
            content = f"The file {input_['file_path']} has been updated."
            extra = self._make_patch(input_, size)
        elif name == "Task":
            content, extra = self._run_subagent()
        else:
            content = self._text.take(rng, "output", size)
            extra = {"stdout": content, "stderr": "", "interrupted": False}
        self._add_user([_make_result(call, content)], toolUseResult=extra)

    def _make_patch(self, input_: dict[str, Any], size: int) -> dict[str, Any]:
        old = input_.get("old_string", "")
        new = input_.get("new_string", input_.get("content", ""))
        original = self._text.take(self._rng, "code", min(size * 3, 60_000))
        lines = [f"-{line}" for line in old.split("\n")]
        lines += [f"+{line}" for line in new.split("\n")]
        return {
            "filePath": input_["file_path"],
            "oldString": old,
            "newString": new,
            "originalFile": original,
            "structuredPatch": [{"oldStart": 10, "newStart": 10, "lines": lines}],
        }

    def _run_subagent(self) -> tuple[Any, dict[str, Any]]:
        """Let a subagent work; return its report."""
        subagent = Conversation(
            self._text,
            self.session_id,
            self._builder.cwd,
            self._builder.started_at,
            agent_id=f"a{self._rng.getrandbits(64):016x}",
            is_small=self._is_small,
        )
        lines = self._rng.randint(3, 6)
        if not self._is_small:
            lines = draw_size(self._rng, 10, 300)
        subagent.add_turns(lines, 0)
        self.subagents.append(subagent)
        report = self._text.take(self._rng, "prose", draw_size(self._rng, 300, 4_000))
        content = [{"type": "text", "text": report}]
        extra = {"status": "completed", "agentId": subagent.agent_id}
        return content, {**extra, "content": content, "totalTokens": 9_000}


def _make_result(call: dict[str, Any], content: Any) -> dict[str, Any]:
    return {"tool_use_id": call["id"], "type": "tool_result", "content": content}
