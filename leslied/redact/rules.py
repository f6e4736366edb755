"""Patterns of secrets, each anchored by a fixed text such as a vendor's prefix.

Every pattern runs in linear time, because repeats are bounded and not nested. A rule is
tried only on text that contains one of its keywords, so text without secrets costs
almost nothing.
A rule that would also match a hash, an identifier or a placeholder does not belong
here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_CHARACTER = r"[A-Za-z0-9_-]"
"""Matches one character of most tokens."""
_WORD_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt]))"
"""Matches at the start of a word, also after an escape sequence such as `\\n`."""


@dataclass(frozen=True)
class Rule:
    """The pattern of one kind of secret; the marker shows the kind to the reader."""

    kind: str
    keywords: tuple[str, ...]
    """Text that contains none of these strings has no secret of this kind."""
    regex: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled pattern; compiled on first use, because most are never used."""
        return re.compile(self.regex)


def _make_rule(
    kind: str, keywords: str, pattern: str, *, must_start_word: bool = True
) -> Rule:
    """Return a rule; `keywords` are separated by spaces."""
    regex = f"{_WORD_START}(?:{pattern})" if must_start_word else pattern
    return Rule(kind, tuple(keywords.split()), regex)


RULES: tuple[Rule, ...] = (
    _make_rule("anthropic", "sk-ant-", rf"sk-ant-{_CHARACTER}{{20,200}}"),
    _make_rule(
        "openai",
        "sk-",
        rf"sk-(?:proj|svcacct|admin)-{_CHARACTER}{{20,200}}|sk-[A-Za-z0-9]{{48}}(?!{_CHARACTER})",
    ),
    _make_rule(
        "github",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255}",
    ),
    _make_rule(
        "gitlab",
        "glpat- gldt- glrt- glptt- glsoat-",
        rf"gl(?:pat|dt|rt|ptt|soat)-{_CHARACTER}{{20,64}}",
    ),
    _make_rule("aws-key", "AKIA ASIA", r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z2-7])"),
    _make_rule("google", "AIza", rf"AIza{_CHARACTER}{{35}}(?!{_CHARACTER})"),
    _make_rule(
        "google-oauth",
        "GOCSPX- ya29.",
        rf"GOCSPX-{_CHARACTER}{{28}}|ya29\.{_CHARACTER}{{30,300}}",
    ),
    _make_rule(
        "slack",
        "xox xapp-",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}",
    ),
    _make_rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/[A-Za-z0-9/]{30,90}",
        must_start_word=False,
    ),
    _make_rule(
        "stripe",
        "k_live_ k_test_ whsec_",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9]{24,64}",
    ),
    _make_rule("npm", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _make_rule("pypi", "pypi-Ag", rf"pypi-AgEIcHlwaS5vcmc{_CHARACTER}{{50,300}}"),
    _make_rule("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,60}"),
    _make_rule(
        "sendgrid",
        "SG.",
        rf"SG\.{_CHARACTER}{{20,24}}\.{_CHARACTER}{{39,50}}",
    ),
    _make_rule("digitalocean", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _make_rule(
        "telegram",
        ":AA",
        rf"\d{{8,10}}:AA{_CHARACTER}{{33}}(?!{_CHARACTER})",
    ),
    _make_rule("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[02-9A-HJ-NP-Z]{58}"),
    _make_rule(
        "jwt",
        ".eyJ",
        rf"eyJ{_CHARACTER}{{10,2000}}\.eyJ{_CHARACTER}{{10,4000}}\.{_CHARACTER}{{20,1000}}",
    ),
    _make_rule(
        "private-key",
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----BEGIN)[\s\S]){1,10000}?"
        r"-----END [A-Z ]{0,30}PRIVATE KEY-----",
        must_start_word=False,
    ),
    _make_rule(
        "url-password",
        "://",
        r"(?<=://)[^\s/:@\"'<>]{0,100}:[^\s/@\"'<>]{3,200}(?=@[A-Za-z0-9])",
        must_start_word=False,
    ),
)
