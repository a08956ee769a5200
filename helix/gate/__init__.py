"""The gate: verdict lines fold to a scorecard, the scorecard to a gate, the gate to an exit code.

Pure: no clock, no randomness, no I/O (METHOD 64–67).
"""

from helix.gate.exits import exit_code
from helix.gate.fold import FoldPlan, fold, task_of, with_tests
from helix.gate.spread import Said, Spread, hear, said_in
from helix.gate.states import (
    GateRow,
    Known,
    Policy,
    exact_ratio,
    fold_rate,
    fold_repeats,
    fold_task,
    fold_traces,
    worst_state,
)
from helix.gate.tally import STEADY, repeat_states
from helix.gate.trusted import Trusted

__all__ = [
    "STEADY",
    "FoldPlan",
    "GateRow",
    "Known",
    "Policy",
    "Said",
    "Spread",
    "Trusted",
    "exact_ratio",
    "exit_code",
    "fold",
    "fold_rate",
    "fold_repeats",
    "fold_task",
    "fold_traces",
    "hear",
    "repeat_states",
    "said_in",
    "task_of",
    "with_tests",
    "worst_state",
]
