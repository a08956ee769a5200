"""Runs compared after masking, and their determinism scorecard, as text and as JSON.

The scorecard is a trend beside the gate: no report combines the two (METHOD 68).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from helix.model.audit import ArtifactDiff, DeterminismScore, Diff, Trend
from helix.model.scorecard import Ratio
from helix.reports.textpage import TextPage
from helix.reports.visible import one_line
from helix.reports.words import NOT_RECORDED, counted

VALUE: Final = 160
NAMES: Final = "AB"
NAMED: Final = 3
PLAN: Final = "plan.json"
MISSING: Final = {
    "missingInA": "missing in A",
    "missingInB": "missing in B",
    "missing": "in neither, not compared",
}
COMPARED: Final = {
    "better": "better than before",
    "same": "as before",
    "worse": "worse than before",
    None: "before",
}
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def diff_text(
    diff: Diff,
    score: DeterminismScore,
    names: Sequence[str],
    width: int,
    color: bool,
    ascii: bool,
) -> str:
    """Return both comparisons as terminal text: artifacts, then dimensions, then the sums."""
    page = TextPage(width, color, ascii)
    for letter, name in zip(NAMES, names, strict=True):
        page.whole(f"{letter}  {name}")
    page.gap()
    for artifact in diff.artifacts:
        _artifact(page, artifact)
    page.gap()
    score_lines(page, score)
    page.gap()
    if any(one.artifact == PLAN and one.first is not None for one in diff.different):
        page.line("The runs were planned otherwise; what was asked otherwise is told by")
        page.whole(f"  {shlex.join(['helix', 'report', 'compare', *names])}")
    page.line(sums(diff, score))
    return page.text


def sums(diff: Diff, score: DeterminismScore) -> str:
    """Return the result in one sentence."""
    compared = [one for one in diff.artifacts if one.status != "missing"]
    differ = f"{len(diff.different)} of {counted(len(compared), 'artifact')}"
    lost = len(diff.artifacts) - len(compared)
    neither = f"; {lost} in neither run, not compared" if lost else ""
    return f"After masking {differ} {_differ(len(diff.different))}{neither}; {variance(score)}."


def variance(score: DeterminismScore) -> str:
    """Return the variance score in words."""
    return _varying(score.variance)


def _varying(share: Ratio) -> str:
    return f"{share.k} of {counted(share.n, 'measured dimension')} {_differ(share.k)}"


def _differ(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _artifact(page: TextPage, one: ArtifactDiff) -> None:
    name = f"{one.artifact:<16}  "
    if one.status == "equal":
        page.line(name, ("equal", "dim"))
        return
    if one.first is None:
        page.line(
            name, page.state("fail" if one.status != "missing" else "na", MISSING[one.status])
        )
        return
    place = f"line {one.first.line:,}" if one.first.line is not None else ""
    place = ", ".join(filter(None, [place, one_line(one.first.path) or "as a whole"]))
    many = "1 place" if one.places == 1 else f"{one.places:,} places, first"
    page.line(name, page.state("fail", "different"), f"  {many}: {place}")
    for letter, text in zip(NAMES, (one.first.a, one.first.b), strict=True):
        page.line(
            (f"{letter}  ", "bold"), "nothing there" if text is None else one_line(text), indent=4
        )


def score_lines(page: TextPage, score: DeterminismScore) -> None:
    """Write the dimensions: those that differ with the value in each run, the others in a line."""
    page.line(("Determinism", "bold"), ", beside the gate and never part of it")
    for one in score.different:
        page.line(page.state("fail", "different"), f"  {one_line(one.name)}  ",
                  (f"{one_line(one.artifact)}: {one_line(one.field)}", "dim"))  # fmt: skip
        for name, value in zip(_runs(score.runs), one.values, strict=True):
            page.line((f"{name}  ", "bold"), told_value(value), indent=4)
    for one in score.dimensions:
        if one.status == "notMeasured":
            reason = one_line(one.reason or NOT_RECORDED, VALUE)
            page.line(page.state("na", "not measured"), f"  {one_line(one.name)}: {reason}")
    same = [one_line(one.name) for one in score.dimensions if one.status == "equal"]
    if same:
        page.line(page.state("pass", "equal"), f"  {counted(len(same), 'dimension')}")
        page.line(", ".join(same), indent=4)


def _runs(count: int) -> Sequence[str]:
    return NAMES if count == len(NAMES) else [str(number) for number in range(1, count + 1)]


def trend_told(trend: Trend | None) -> tuple[str, ...]:
    """Return the trend in sentences, for any report; none without a history."""
    if trend is None:
        return ()
    last = trend.latest
    differ = f"{_varying(last.variance)} between {counted(last.runs, 'run')}"
    if last.different:
        differ += f" ({', '.join(one_line(name, 60) for name in last.different[:NAMED])}"
        more = len(last.different) - NAMED
        differ += f" and {more} more)" if more > 0 else ")"
    told = [f"{differ}, {one_line(last.at.partition('T')[0], 40)}" if last.at else differ]
    if trend.earlier:
        scores = ", ".join(f"{one.k} of {one.n}" for one in trend.earlier)
        told.append(f"{COMPARED[trend.direction]} ({scores})")
    return (*told, "beside the gate, and no part of it")


def trend_recorded(told: Any) -> tuple[str, ...]:
    """Return the trend that run meta holds in sentences; none where it holds none that is read."""
    try:
        return trend_told(msgspec.convert(told, Trend)) if told is not None else ()
    except msgspec.ValidationError:
        return ()


def told_value(value: Any) -> str:
    """Return what was measured in a few words, digests by their beginning."""
    if value is None:
        return "not measured"
    text = json.dumps(value, ensure_ascii=False)
    return one_line(_DIGEST.sub(lambda found: found.group()[:12], text), VALUE)


def diff_json(diff: Diff, score: DeterminismScore, names: Sequence[str]) -> dict[str, Any]:
    """Return both comparisons as plain data; `runs` are the folders as they were typed."""
    return {
        "runs": list(names),
        "diff": msgspec.to_builtins(diff),
        "determinism": msgspec.to_builtins(score),
    }
