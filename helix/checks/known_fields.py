"""Field paths as a suite writes them: one that no trace can ever answer is refused at load.

What calls and messages hold is a closed set; what stands below their `input` and `output` is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from helix.errors import PathError, did_you_mean
from helix.fieldpath import Each, FieldPath, Step, parse, parse_relative
from helix.model.tracerecord import MessageRecord, ObservationRecord

CALL_FIELDS: tuple[str, ...] = ObservationRecord.__struct_encode_fields__
MESSAGE_FIELDS: tuple[str, ...] = MessageRecord.__struct_encode_fields__
_ITEMS = {"observations": CALL_FIELDS, "transcript": MESSAGE_FIELDS}


def selector(text: str) -> FieldPath:
    """Parse a path from the root of a trace; PathError also for a field that nothing has."""
    path = parse(text)
    if path.observation is not None:
        _refuse_unknown(text, path.steps, CALL_FIELDS, "a call")
    elif path.root in _ITEMS and path.steps:
        kind = "a call" if path.root == "observations" else "a message"
        if isinstance(path.steps[0], str):
            raise PathError(
                f"path '{text}' must name an item of {path.root}: {path.root}[*], or [0], or [-1]"
            )
        _refuse_unknown(text, path.steps[1:], _ITEMS[path.root], kind)
    return path


def relative(text: str) -> FieldPath:
    """Parse a path inside one call; PathError also for a field that no call has."""
    path = parse_relative(text)
    _refuse_unknown(text, path.steps, CALL_FIELDS, "a call")
    return path


def _refuse_unknown(text: str, steps: Sequence[Step], fields: tuple[str, ...], kind: str) -> None:
    if not steps or isinstance(steps[0], Each) or steps[0] in fields:
        return
    hint = did_you_mean(str(steps[0]), fields)
    raise PathError(
        f"path '{text}': '{steps[0]}' is no field of {kind}{hint} (known: {', '.join(fields)})"
    )
