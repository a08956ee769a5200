"""What a judge is shown for a mined row: cited places of TRAIN traces (METHOD 39, 62)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from helix.discover.calls import path_of
from helix.errors import PathError
from helix.fieldpath import EACH, FieldPath, Step, parse_relative
from helix.model.criterion import FewShot
from helix.model.discovery import Detection, Determination
from helix.model.splits import split_of
from helix.model.trace import Observation, Trace
from helix.model.verdict import Ref

MOST_INPUTS, MOST_TERMS, MOST_SHOTS, DEPTH = 8, 3, 2, 3
ALWAYS = "output.response"
Shown = Sequence[tuple[Determination, Detection]]


def inputs_of(traces: Mapping[str, Trace], shown: Shown) -> tuple[str, ...]:
    """Return the least that a judge needs to read: the places cited, of any trace."""
    found: dict[str, None] = {}
    for one, detection in shown:
        trace = traces.get(one.trace_id)
        for ref in detection.refs if trace is not None else ():
            path = _anywhere(trace, ref)  # type: ignore[arg-type]
            if path is not None:
                found.setdefault(path, None)
    return (*list(found)[:MOST_INPUTS], *([] if ALWAYS in found else [ALWAYS]))


def terms_cited(traces: Mapping[str, Trace], shown: Shown) -> tuple[str, ...]:
    """Return what a judge has to find in a trace: the steps that showed it, else the response."""
    found: dict[str, None] = {}
    for one, detection in shown:
        trace = traces.get(one.trace_id)
        owners = {} if trace is None else trace.owners
        for ref in detection.refs:
            owner = owners.get(ref.obs)
            if isinstance(owner, Observation):
                found.setdefault(owner.name, None)
    return tuple(found)[:MOST_TERMS] or ("response",)


def _anywhere(trace: Trace, ref: Ref) -> str | None:
    """Return the path of a cited place as it reads in other traces too."""
    try:
        steps = parse_relative(ref.path).steps
    except PathError:
        return None
    owner = trace.owners.get(ref.obs)
    if ref.obs == trace.id:
        return str(FieldPath(root=str(steps[0]), steps=_free(steps[1:])))
    if owner is None:
        return None
    if isinstance(owner, Observation):
        return path_of(owner.name, _free(steps))
    return "transcript[*].text"


def _free(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(EACH if isinstance(step, int) else step for step in steps[:DEPTH])


def shots_of(
    determinations: Iterable[Determination], shown: Shown, seed: int
) -> tuple[FewShot, ...]:
    """Return few-shot examples of the TRAIN split: what is of the kind, and what is well."""
    broken = [
        FewShot(
            trace_id=plain(one.trace_id),
            split="train",
            text=plain(_quoted(detection.refs)),
            critique=plain(detection.text),
            result="fail",
        )
        for one, detection in shown
        if _train(one, seed) and detection.refs
    ]
    well = [
        FewShot(
            trace_id=plain(one.trace_id),
            split="train",
            text=plain(_quoted(one.refs)),
            critique=plain(one.critique or one.happened or ""),
            result="pass",
        )
        for one in determinations
        if one.verdict == "pass" and _train(one, seed) and one.refs
    ]
    return (*broken[:MOST_SHOTS], *well[:MOST_SHOTS])


def plain(text: str) -> str:
    """Return a text with lone surrogates, which no suite file can hold, as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _train(one: Determination, seed: int) -> bool:
    return split_of(one.trace_id, seed) == "train"


def _quoted(refs: Sequence[Ref]) -> str:
    return "\n".join(f"[{ref.path}] {ref.value or ''}" for ref in refs)
