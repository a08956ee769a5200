"""What two differing values say of themselves: a clock, a folder, a number spelled otherwise.

Told only where nothing else in the two texts differs, and where all samples of a place agree.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from helix.audit.parting import spelled
from helix.fieldpath import MISSING
from helix.model.audited import Execution, Mechanism

_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?<![\d.])1\d{9}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\d.])"
)
_PATH: Final = re.compile(r"(?<![\w.:/])(?:/|[A-Za-z]:[\\/])[^\"'<>|*?\n]*[\\/][^\"'<>|*?\n]*")
_FLOAT: Final = re.compile(r"[-+]?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")
_NEAR: Final = 1e-9
_REST: Final = 1e-15
"""What is left where a sum of small numbers comes to 0."""
_ZONES_S: Final = 15 * 3600
"""No time zone is further from UTC than this; a local time is known up to it."""
_SLACK_S: Final = 2.0
Sample = tuple[Any, Any]


def evident(samples: Sequence[Sample], a: Execution, b: Execution) -> Mechanism | None:
    """Return the mechanism that all samples of a place show, None where they show none."""
    if not samples or any(value is MISSING for sample in samples for value in sample):
        return None
    texts = [(_text(one), _text(two)) for one, two in samples]
    if all(_same_but(one, two, _TIME, lambda x, y: _of(x, a) and _of(y, b)) for one, two in texts):
        return "clock"
    if all(_same_but(one, two, _FLOAT, _near) for one, two in texts):
        return "float-text"
    if all(_same_but(one, two, _PATH, lambda x, y: True) for one, two in texts):
        return "path"
    return None


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else spelled(value)


def _same_but(a: str, b: str, pattern: re.Pattern[str], alike: Callable[[str, str], bool]) -> bool:
    """Whether two texts are the same but for what a pattern finds, and that `alike` by pairs."""
    found, other = pattern.findall(a), pattern.findall(b)
    if not found or len(found) != len(other) or pattern.split(a) != pattern.split(b):
        return False
    return all(x == y or alike(x, y) for x, y in zip(found, other, strict=True))


def _near(a: str, b: str) -> bool:
    return math.isclose(float(a), float(b), rel_tol=_NEAR, abs_tol=_REST)


def _of(text: str, execution: Execution) -> bool:
    """Whether a time lies within an execution; any time does where none was recorded."""
    if execution.started_at is None or execution.ended_at is None:
        return True
    start, end = execution.started_at - _SLACK_S, execution.ended_at + _SLACK_S
    if text[:5].isdigit():
        digits = len(text.partition(".")[0])
        return start <= float(text) / 10.0 ** (digits - 10) <= end
    try:
        moment = datetime.datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return False
    if moment.tzinfo is not None:
        return start <= moment.timestamp() <= end
    # Local, in a zone that nobody wrote down; to the minute where no seconds are told.
    seconds = moment.replace(tzinfo=datetime.UTC).timestamp()
    return start - _ZONES_S - 60 <= seconds <= end + _ZONES_S
