"""Improve: measure a subject, ask for a change, measure again, know when to stop (METHOD 73–77).

The engine is `helix.improve.loop`, what it decides by `helix.improve.terminator`.
"""

from helix.improve.accuracy import Accuracy, UnstableError
from helix.improve.loop import Improved, improve
from helix.improve.request import ChangeRequest
from helix.improve.response import ChangeResponse
from helix.improve.spread import Answer, Cell, Spread
from helix.improve.terminator import Bounds, Decision, Delta, Observed, decide

__all__ = [
    "Accuracy",
    "Answer",
    "Bounds",
    "Cell",
    "ChangeRequest",
    "ChangeResponse",
    "Decision",
    "Delta",
    "Improved",
    "Observed",
    "Spread",
    "UnstableError",
    "decide",
    "improve",
]
