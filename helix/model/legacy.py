"""Verdict lines of an older version: what of them can be read, refs optional (METHOD 4, 46).

A line of this version is read strictly. One that names an earlier version or none keeps the parts
that this version knows and can read; `trajectoryId` and `verdicts` it must have.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from helix.model.jsontext import decode
from helix.model.lines import decode_line
from helix.model.verdict import VERDICT_SCHEMA_VERSION, Fidelity, MatrixVerdictFile

UNVERSIONED = "0"
_NEEDED = ("trajectoryId", "verdicts")


def read_line(data: bytes) -> MatrixVerdictFile:
    """Read a line of any version; `schemaVersion` is `0` where it names none.

    ValueError where it is no verdict line.
    """
    raw = decode(data)[0]
    named = raw.get("schemaVersion") if isinstance(raw, dict) else None
    # Whoever wrote a number has named a version too.
    version = UNVERSIONED if named is None else str(named)
    wanted = _major(VERDICT_SCHEMA_VERSION)
    if _major(version) > wanted:
        raise ValueError(f"schemaVersion must be {wanted}.x or older (got {version})")
    if _major(version) == wanted:
        return decode_line(data, MatrixVerdictFile)
    if not isinstance(raw, dict) or not all(key in raw for key in _NEEDED):
        raise ValueError(f"a verdict line must be an object with {' and '.join(_NEEDED)}")
    return _legacy(raw, version)


def is_current(line: MatrixVerdictFile) -> bool:
    """Whether a line was written in this version of its shape."""
    return _major(line.schema_version) == _major(VERDICT_SCHEMA_VERSION)


def _major(version: str) -> int:
    word = version.partition(".")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 9 else 0


def _legacy(raw: dict[str, Any], version: str) -> MatrixVerdictFile:
    unknown = Fidelity(complete=False, reason="not recorded")
    parts: dict[str, Any] = {"fidelity": unknown, "dense_map": None}
    for field in msgspec.structs.fields(MatrixVerdictFile):
        if field.encode_name not in raw:
            continue
        try:
            value = _known(raw[field.encode_name], field.type)
            parts[field.name] = msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError:
            if field.encode_name in _NEEDED:
                raise
    if parts["dense_map"] is None:
        parts["dense_map"] = {v.criterion_id: v.result for v in parts["verdicts"]}
    return MatrixVerdictFile(**{**parts, "schema_version": version})


def _known(value: Any, kind: Any) -> Any:
    """Return a value without the fields that its shape does not know."""
    if isinstance(value, list):
        return [_known(item, kind) for item in value]
    shape = _shape(kind)
    if shape is None or not isinstance(value, dict):
        return value
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
    return {key: _known(item, fields[key]) for key, item in value.items() if key in fields}


def _shape(kind: Any) -> type[msgspec.Struct] | None:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((found for arg in get_args(kind) if (found := _shape(arg)) is not None), None)
