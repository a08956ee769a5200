"""Which type a fact has: the first rule that matches, from outside in (METHOD 79).

The rules are patterns over words, so that the same fact is always of the same type; whoever knows
better names the type.
"""

from __future__ import annotations

import re
from typing import Final

from helix.memory.entry import Type

_TOOL: Final = (
    r"helix|tool|reports?|output|summar(?:y|ies)|verdicts?|critiques?|messages?|tables?|page"
)

_SPELLED: Final[tuple[tuple[Type, str, str], ...]] = (
    ("reference", "an address with a scheme, as https:// or s3://", r"\b[a-z][a-z0-9+]+://\S"),
    (
        "reference",
        "ticket, issue or pull request, and its number",
        r"\b(?:ticket|issue|pull request|PR)s? (?:[A-Z][A-Z0-9]*-|#)?\d+\b",
    ),
    (
        "reference",
        "dashboard, wiki, runbook, issue tracker, data set, or a path to a data file",
        r"\b(?:dashboard|wiki|runbook|issue tracker|data ?set)\b"
        r"|\S+\.(?:jsonl|csv|parquet)\b",
    ),
    (
        "user",
        "I am, I prefer, I like, I work, my role, my name, our team is",
        r"\bI(?:['’]m| am| prefer| like| work)\b|\bmy (?:role|name|job)\b"
        r"|\b(?:our team is|we are an?)\b",
    ),
    ("feedback", "next time, from now on", r"\bnext time\b|\bfrom now on\b"),
    (
        "feedback",
        "stop doing, too long, too short, too verbose, too noisy, too many",
        r"\bstop \w+ing\b|\btoo (?:long|short|verbose|terse|noisy|many|much|few)\b",
    ),
    (
        "feedback",
        "always, never, don't or please, and show, print, list, report, say, use, write, ask",
        r"\b(?:always|never|do not|don['’]t|please) "
        r"(?:show|print|list|report|say|use|write|ask)\b",
    ),
    (
        "feedback",
        "the tool, a report, a summary, a verdict and the like, and should or must",
        rf"\b(?:{_TOOL})\b.{{0,40}}\b(?:should|must)\b",
    ),
    (
        "project",
        "migrating, moving to, working on, planning, releasing, deadline, roadmap, freeze",
        r"\b(?:migrating|migration|moving to|working on|planning|releas(?:e|ing)|deadline"
        r"|roadmap|freeze|frozen)\b",
    ),
    (
        "project",
        "until, by or before, and a day, a month, a quarter or a date; don't … until",
        r"\b(?:until|by|before) (?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
        r"|\b(?:until|by|before) (?:january|february|march|april|may|june|july|august"
        r"|september|october|november|december|Q[1-4]|\d{4})\b"
        r"|\b(?:don['’]t|do not)\b.{1,80}\buntil\b",
    ),
)

RULES: Final = tuple((of, text, re.compile(rule, re.IGNORECASE)) for of, text, rule in _SPELLED)
"""Type, what matches in words, the pattern; in the order in which they are tried."""


def classify(text: str) -> Type | None:
    """Return the type of a fact by the first rule that matches; None where none does."""
    return next((of for of, _, pattern in RULES if pattern.search(text)), None)
