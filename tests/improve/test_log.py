"""Where a loop stands after its log."""

from __future__ import annotations

import pytest

from helix.improve import Delta
from helix.improve.log import delta_of
from helix.model.improvement import Score


@pytest.mark.parametrize(
    ("agent", "under_sampled", "delta"),
    [
        ((), (), Delta(0, None)),
        (("a", "b"), (), Delta(2, None)),
        ((), ("a", "b"), Delta(0, None, lacking=2)),
        (("a",), ("a", "b"), Delta(1, None, lacking=2)),
    ],
)
def test_a_case_that_lacks_answers_is_never_taken_to_be_stable(
    agent: tuple[str, ...], under_sampled: tuple[str, ...], delta: Delta
) -> None:
    score = Score(
        flapping=len(agent),
        agent=agent,
        judge=(),
        unclear=(),
        under_sampled=under_sampled,
        failing=0,
        accuracy=None,
        gap=None,
    )
    assert delta_of(score) == delta
