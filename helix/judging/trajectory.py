"""The trajectory axis: one question for the whole residual matrix of one trace (METHOD 38).

A code change is judged in the same way, under a rubric of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from helix.judging.conversation import Asking, converse
from helix.judging.expectation import Expectation, expect
from helix.judging.job import Job, Settings
from helix.judging.packet import build, omissions
from helix.judging.rendering import render
from helix.model.criterion import Criterion


def judge_trajectory(job: Job, rows: Sequence[Criterion], settings: Settings) -> Asking:
    """Ask for all rows at once and return what was answered, grounded, with the judge's walk."""
    expected = Expectation()
    if settings.two_pass:
        expected = yield from expect(job, rows, settings)
    packet = build(job.trace, rows, job.findings(rows), settings.packet)
    unit, pin = job.unit(rows, settings.axis), settings.packet.pin
    request = render(packet, unit, pin, settings.channels, expected.steps)
    ground = settings.ground(job.trace, packet)
    judged = yield from converse(request, packet.criteria, ground, settings.models)
    if judged.answer is not None and expected.steps:
        answer = replace(judged.answer, expected_trajectory=expected.steps)
        judged = replace(judged, answer=answer)
    left_out = omissions(packet, rows)
    warnings = (*expected.warnings, *(note["text"] for note in left_out))
    notes = (*expected.notes, *left_out, *judged.decisions)
    return replace(judged, decisions=notes, warnings=warnings)
