"""Audits: what varies between runs that should not, and what an attacker's words change.

`diff_runs` and `score` compare finished runs; `audit` has runs executed under conditions that
vary, and names what differs; `attack` plants texts into traces and compares.
"""

from helix.audit.conditions import Conditions, Program
from helix.audit.coordinator import Asked, audit
from helix.audit.diff import diff_runs
from helix.audit.dimensions import dimensions, score
from helix.audit.executions import Executor
from helix.audit.findings import Findings, Move
from helix.audit.injection import attack
from helix.audit.masking import COMPARED, MASKING_VERSION, MASKS, masked
from helix.audit.payloads import BUILT_IN, PLACES, Payload, load_payloads
from helix.audit.places import Plant, plants

__all__ = [
    "BUILT_IN",
    "COMPARED",
    "MASKING_VERSION",
    "MASKS",
    "PLACES",
    "Asked",
    "Conditions",
    "Executor",
    "Findings",
    "Move",
    "Payload",
    "Plant",
    "Program",
    "attack",
    "audit",
    "diff_runs",
    "dimensions",
    "load_payloads",
    "masked",
    "plants",
    "score",
]
