"""What a definite secret looks like: each anchored by its vendor's own words.

Every pattern runs in linear time: bounded repeats, no nesting. A rule is tried only on
text that holds one of its words, so text without secrets costs next to nothing. A rule
that would also match a hash, an identifier or a placeholder does not belong here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = r"[A-Za-z0-9_-]"
_ALONE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt]))"
"""At the beginning of a word, also where a written `\\n` stands before it."""


@dataclass(frozen=True)
class Rule:
    """One kind of secret; the kind is what the reader sees."""

    kind: str
    words: tuple[str, ...]
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text first holds one of the words: most never does."""
        return re.compile(self.source)


def _rule(kind: str, words: str, pattern: str, *, is_alone: bool = True) -> Rule:
    whole = f"{_ALONE}(?:{pattern})" if is_alone else pattern
    return Rule(kind, tuple(words.split()), whole)


RULES: tuple[Rule, ...] = (
    _rule("anthropic", "sk-ant-", rf"sk-ant-{_WORD}{{20,200}}"),
    _rule(
        "openai",
        "sk-",
        rf"sk-(?:proj|svcacct|admin)-{_WORD}{{20,200}}|sk-[A-Za-z0-9]{{48}}(?!{_WORD})",
    ),
    _rule(
        "github",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255}",
    ),
    _rule(
        "gitlab",
        "glpat- gldt- glrt- glptt- glsoat-",
        rf"gl(?:pat|dt|rt|ptt|soat)-{_WORD}{{20,64}}",
    ),
    _rule("aws-key", "AKIA ASIA", r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z2-7])"),
    _rule("google", "AIza", rf"AIza{_WORD}{{35}}(?!{_WORD})"),
    _rule(
        "google-oauth",
        "GOCSPX- ya29.",
        rf"GOCSPX-{_WORD}{{28}}|ya29\.{_WORD}{{30,300}}",
    ),
    _rule(
        "slack",
        "xox xapp-",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}",
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/[A-Za-z0-9/]{30,90}",
        is_alone=False,
    ),
    _rule(
        "stripe",
        "k_live_ k_test_ whsec_",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9]{24,64}",
    ),
    _rule("npm", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _rule("pypi", "pypi-Ag", rf"pypi-AgEIcHlwaS5vcmc{_WORD}{{50,300}}"),
    _rule("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,60}"),
    _rule("sendgrid", "SG.", rf"SG\.{_WORD}{{20,24}}\.{_WORD}{{39,50}}"),
    _rule("digitalocean", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _rule("telegram", ":AA", rf"\d{{8,10}}:AA{_WORD}{{33}}(?!{_WORD})"),
    _rule("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[02-9A-HJ-NP-Z]{58}"),
    _rule(
        "jwt",
        ".eyJ",
        rf"eyJ{_WORD}{{10,2000}}\.eyJ{_WORD}{{10,4000}}\.{_WORD}{{20,1000}}",
    ),
    _rule(
        "private-key",
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----BEGIN)[\s\S]){1,10000}?"
        r"-----END [A-Z ]{0,30}PRIVATE KEY-----",
        is_alone=False,
    ),
    _rule(
        "url-password",
        "://",
        r"(?<=://)[^\s/:@\"'<>]{0,100}:[^\s/@\"'<>]{3,200}(?=@[A-Za-z0-9])",
        is_alone=False,
    ),
)
