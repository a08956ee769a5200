"""Labels: what people said of traces, read and checked, so that a judge can be measured by it."""

from helix.labels.checking import check, load
from helix.labels.files import LabelFile, Problem, Row, read, write
from helix.labels.raters import Agreement, Settled, agreement, settle
from helix.labels.record import WORDS, Cell, Label, Word

__all__ = [
    "WORDS",
    "Agreement",
    "Cell",
    "Label",
    "LabelFile",
    "Problem",
    "Row",
    "Settled",
    "Word",
    "agreement",
    "check",
    "load",
    "read",
    "settle",
    "write",
]
