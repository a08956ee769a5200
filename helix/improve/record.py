"""What a loop came to, as a fold of its log (METHOD 76)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from helix.improve.accuracy import Accuracy
from helix.improve.log import ratio
from helix.improve.request import Sorted
from helix.improve.spread import Spread
from helix.model.improvement import Asked, Improvement, Lost, Score, Step, Swing
from helix.model.scorecard import Ratio


def scored(
    spread: Spread,
    accuracy: Accuracy | None,
    found: Sorted,
    lost: Sequence[Lost],
    target: Fraction,
) -> Score:
    """Return what a swing came to."""
    return Score(
        flapping=len({cell.case for cell in spread.flapping}),
        agent=spread.varying("agent"),
        judge=spread.varying("judge"),
        unclear=spread.varying("unclear"),
        under_sampled=spread.under_sampled,
        failing=len(found.failing),
        accuracy=None if accuracy is None else Ratio(k=accuracy.passes, n=accuracy.cells),
        gap=None if accuracy is None else ratio(accuracy.gap(target)),
        lost=tuple(lost),
    )


def improvement(loop: str, steps: Sequence[Step]) -> Improvement:
    """Return the record of a loop whose last step says how it ended."""
    *_, ended = steps
    assert ended.why is not None and ended.exit is not None
    swings = [_swing(number, steps) for number in sorted({step.swing for step in steps})]
    last = next((s.score for s in reversed(swings) if s.score is not None), None)
    return Improvement(
        id=loop,
        ending=ended.why,
        exit=ended.exit,
        elapsed_s=ended.elapsed_s,
        flapping=None if last is None else last.flapping,
        gap=None if last is None else last.gap,
        swings=tuple(swings),
    )


def _swing(number: int, steps: Sequence[Step]) -> Swing:
    own = [step for step in steps if step.swing == number]
    asked: dict[str, Asked] = {}
    for step in own:
        if step.step == "requested" and step.request and step.target:
            asked[step.request] = Asked(
                request=step.request, target=step.target, cases=step.cases or 0
            )
        elif step.step == "answered" and step.request:
            asked[step.request] = msgspec.structs.replace(
                asked[step.request], decision=step.decision, note=step.note
            )
        elif step.step == "unchanged" and step.request:
            asked[step.request] = msgspec.structs.replace(
                asked[step.request], decision="amended", unchanged=True, note=step.note
            )
    scores = [step.score for step in own if step.score is not None]
    criteria = {criterion for step in own for criterion in step.criteria}
    return Swing(
        swing=number,
        score=scores[-1] if scores else None,
        asked=tuple(asked.values()),
        calibrated=tuple(sorted(criteria)),
    )
