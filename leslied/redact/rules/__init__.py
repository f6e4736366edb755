"""Rules that recognise secrets, by tier.

A definite rule is anchored by a vendor's prefix, a vendor's name, or a structure. A
contextual rule needs the name that a value is assigned to. A rule that would match a
hash or an identifier alone does not belong here.
"""

from __future__ import annotations

from leslied.redact.rules import (
    commands,
    context,
    files,
    key_blocks,
    key_names,
    named,
    programs,
    prose,
    protocols,
    structures,
    tokens,
    tokens_ai,
    tokens_services,
    vendors,
    webhooks,
)
from leslied.redact.rules._rule import Rule, Tier

__all__ = ["RULES", "Rule", "Tier"]

RULES: tuple[Rule, ...] = (
    *key_blocks.RULES,
    *structures.RULES,
    *webhooks.RULES,
    *tokens.RULES,
    *tokens_ai.RULES,
    *tokens_services.RULES,
    *named.RULES,
    *vendors.RULES,
    *context.RULES,
    *commands.RULES,
    *protocols.RULES,
    *programs.RULES,
    *prose.RULES,
    *files.RULES,
    *key_names.RULES,
)
