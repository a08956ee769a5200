"""Whatever traces hold, discovery comes to an end, and all that it cites resolves."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix.discover.categories import categories, kinds_of
from helix.discover.findings import determined, mined, roots
from helix.discover.norms import Examined
from helix.discover.proposing import Labelled, proposals
from helix.grounding import dead, resolve_refs
from helix.model.criterion import Suite
from helix.model.trace import Message, Observation, Source, Trace
from helix.registry import CheckContext, load
from helix.suite.dumping import suite_page
from helix.suite.load import from_source
from helix.suite.mined import completed
from helix.suite.source import parse

REGISTRY = load([])
NAMES = st.sampled_from(
    ["send", "get_it", "a.b c", 'x"]', "obs:*", "", "[0]", "é\u2028", "*", "s\ud800"]
)
KEYS = st.sampled_from(["to", "a.b", "", 'k"]', "[*]", "id", "success", "status", "error"])
TEXTS = st.sampled_from(
    ["", "id-77", "a@b.example", "yes", "2024-01-01", "x" * 300, "\ud800", "((((", "[0]", "granted"]
)
VALUES: Any = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(-3, 3)),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=3)),
    max_leaves=6,
)
CALLS = st.lists(
    st.tuples(NAMES, st.dictionaries(KEYS, VALUES, max_size=3), VALUES, st.booleans()), max_size=5
)


def trace(at: int, calls: list[Any], words: list[str], answer: Any) -> Trace:
    found = Trace(id=f"t{at}", source=Source("t", at, "helix", f"{at:064x}"))
    found.input, found.output = {"prompt": "granted id-77"}, answer
    seq = 0
    for text in words:
        found.transcript.append(Message(f"m{seq}", seq, "user" if seq % 2 else "assistant", text))
        seq += 1
    for name, arguments, result, failed in calls:
        found.observations.append(
            Observation(
                f"c{seq}", seq, name, input=arguments, output=result,
                error="boom" if failed else None,
            )
        )  # fmt: skip
        seq += 1
    return found


ONE = st.tuples(
    CALLS, st.lists(TEXTS, max_size=3), st.one_of(VALUES, st.just({"response": "done"}))
)
ODD = {
    "without its first call": lambda one: (one[0][1:], *one[1:]),
    "backwards": lambda one: (one[0][::-1], *one[1:]),
    "everything twice": lambda one: (one[0] * 2, *one[1:]),
    "other arguments": lambda one: (
        [(n, {"to": "id-99"}, r, f) for n, _, r, f in one[0]],
        *one[1:],
    ),
    "no arguments": lambda one: ([(n, {}, r, f) for n, _, r, f in one[0]], *one[1:]),
    "all failed": lambda one: ([(n, a, r, True) for n, a, r, _ in one[0]], *one[1:]),
    "no response": lambda one: (*one[:2], {}),
    "other words": lambda one: (one[0], ["no", "no", "no"], one[2]),
}
SEEN: set[str | None] = set()


# The same batches each time: how many detectors they reach is asserted below.
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(ONE, st.lists(st.sampled_from(sorted(ODD)), min_size=1, max_size=2))
def _determined(one: Any, odd: list[str]) -> None:
    # A habit of nine traces, and what breaks it.
    many = [one] * 9 + [ODD[name](one) for name in odd]
    traces = tuple(trace(at, *one) for at, one in enumerate(many))
    context = CheckContext(
        frozenset(), frozenset(c.name for t in traces for c in t.tools()), frozenset({"user"})
    )
    trials = mined(Examined(traces, context), REGISTRY)
    kept = roots(trials)
    found = [determined(one, kept) for one in traces]
    for one, said in zip(traces, found, strict=True):
        for detection in said.detections:
            assert not dead(resolve_refs(one, detection.refs))
    emergent = categories(kinds_of(found))
    labelled = Labelled({t.id: t for t in traces}, tuple(found))
    rows = proposals(emergent.every, kept, trials, labelled)
    suite = Suite(suite="found", criteria=tuple(row.criterion for row in rows))
    page = from_source(parse(suite_page(suite).decode("utf-8"), "page"))
    assert (page.suite.criteria, page.problems) == (suite.criteria, ())
    for row in rows:
        if row.criterion.discovery is not None and row.criterion.discovery.evidence.refs:
            completed(row.criterion)
        assert set(row.fires).isdisjoint(row.passes)
        SEEN.add(row.detector)


def test_any_batch_is_determined_and_every_row_of_it_is_whole() -> None:
    _determined()
    assert len(SEEN) >= 5, SEEN
