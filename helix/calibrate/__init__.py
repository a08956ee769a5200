"""Calibration: the way back of what traces could not decide (METHOD 63).

queue (a run's undecided cells) ─► act (checked against the table) ─► log ─► premises, suite
"""

from helix.calibrate.acting import Desk, act, apply, record
from helix.calibrate.queue import Item, Queue, queue
from helix.calibrate.table import ACTIONS, TABLE, CalibrationError, replay, step

__all__ = [
    "ACTIONS",
    "TABLE",
    "CalibrationError",
    "Desk",
    "Item",
    "Queue",
    "act",
    "apply",
    "queue",
    "record",
    "replay",
    "step",
]
