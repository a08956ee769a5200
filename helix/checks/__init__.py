"""Tier 0: checks that code decides, and what a project needs to write its own (METHOD 25–28)."""

from helix.checks.custom import check, load_modules
from helix.checks.evidence import cite
from helix.checks.parameters import Params, PathParam, PatternParam
from helix.checks.run import decide
from helix.registry import CheckContext, Decision

__all__ = [
    "CheckContext",
    "Decision",
    "Params",
    "PathParam",
    "PatternParam",
    "check",
    "cite",
    "decide",
    "load_modules",
]
