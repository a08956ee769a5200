"""Memory: what operators told Helix about itself and about themselves, one fact a file.

It is the operator's, never the subject's: findings about an agent belong to criteria and datasets.
"""

from helix.memory.classify import RULES, classify
from helix.memory.entry import LIFECYCLES, TYPES, Entry, Fault, parse
from helix.memory.refusals import refusal
from helix.memory.store import Memory, entries_for, preferences

__all__ = [
    "LIFECYCLES",
    "RULES",
    "TYPES",
    "Entry",
    "Fault",
    "Memory",
    "classify",
    "entries_for",
    "parse",
    "preferences",
    "refusal",
]
