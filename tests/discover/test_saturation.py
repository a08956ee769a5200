"""Saturation: new kinds as traces are examined, and when the last ones brought none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix.discover.saturation import curve, went_quiet

RUNS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), max_size=40)


@given(RUNS, st.integers(1, 10))
def test_saturated_means_that_the_window_before_it_brought_nothing_new(
    runs: list[list[str]], window: int
) -> None:
    found = curve(runs, window)
    assert list(found.known) == [
        len({k for run in runs[: n + 1] for k in run}) for n in range(len(runs))
    ]
    counts = (0, *found.known)
    quiet = [n for n in range(window, len(counts)) if counts[n] == counts[n - window]]
    assert found.saturated_at == (quiet[0] if quiet else None)


@given(RUNS, RUNS, st.integers(1, 10))
def test_later_traces_do_not_move_the_point(
    runs: list[list[str]], more: list[list[str]], window: int
) -> None:
    first = curve(runs, window)
    if first.saturated_at is not None:
        assert curve(runs + more, window).saturated_at == first.saturated_at


@given(RUNS, st.integers(1, 10))
def test_asking_may_stop_only_where_the_last_window_brought_nothing_new(
    runs: list[list[str]], window: int
) -> None:
    before = {kind for run in runs[:-window] for kind in run}
    fresh = {kind for run in runs[-window:] for kind in run} - before
    assert went_quiet(curve(runs, window)) == (len(runs) >= window and not fresh)


def test_a_new_kind_at_the_end_of_a_batch_goes_on_whatever_was_quiet_before_it() -> None:
    found = curve([["a"], [], [], ["b"]], 2)
    assert (found.saturated_at, went_quiet(found)) == (3, False)
