"""Grounding: evidence is resolved mechanically, and no verdict outruns it (METHOD 1–15, 46)."""

from helix.grounding.fidelity import assess, check_fields
from helix.grounding.ground import Ground
from helix.grounding.resolve import all_weak, dead, repeat_scan, resolve_refs
from helix.grounding.settle import complaints, resolved, settle, settle_na, uncertain

__all__ = [
    "Ground",
    "all_weak",
    "assess",
    "check_fields",
    "complaints",
    "dead",
    "repeat_scan",
    "resolve_refs",
    "resolved",
    "settle",
    "settle_na",
    "uncertain",
]
