"""Categories: the same in any order and any batches, few, and by what detects them first."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.discover.categories import Kinds, categories, kinds_of, merge
from helix.model.discovery import Detection, Determination, DeterminedBy, Lens, Route
from helix.model.verdict import Ref, Result

EMPTY = Kinds({}, frozenset())
READER = DeterminedBy(model="m", temperature=0.0, identity="i")
SAID = ("sent without consent", "message sent without the consent", "late reply", "invented price")
CODE = (("order", "send without ask"), ("loop", "same calls over and over"))


def detection(
    kind: str,
    detector: str | None = None,
    place: str = "",
    *,
    route: Route = "eval",
    lens: Lens = "off-path",
    led_by: str | None = None,
) -> Detection:
    refs = (Ref(obs=place, path="input.to", value="x"),) if place else ()
    return Detection(
        lens=lens, kind=kind, text=f"{kind}: here", refs=refs, detector=detector, route=route,
        root=led_by is None, led_by=led_by,
    )  # fmt: skip


def determination(
    name: str,
    *found: Detection,
    verdict: Result = "fail",
    cause: str | None = None,
    read: bool = True,
) -> Determination:
    return Determination(
        trace_id=name, trace_digest="0", verdict=verdict, detections=found,
        cause=cause,  # type: ignore[arg-type]
        determined_by=READER if read else None,
    )  # fmt: skip


PLACES = st.sampled_from(("", "c1", "c2"))
DETECTIONS = st.one_of(
    st.builds(lambda kind, at: detection(kind, None, at), st.sampled_from(SAID), PLACES),
    st.builds(lambda pair, at: detection(pair[1], pair[0], at), st.sampled_from(CODE), PLACES),
)
BATCH = st.lists(st.lists(DETECTIONS, max_size=3), max_size=12).map(
    lambda found: [determination(f"t{at}", *each) for at, each in enumerate(found)]
)


@settings(max_examples=80)
@given(BATCH, st.randoms(use_true_random=False), st.lists(st.integers(0, 12), max_size=4))
def test_neither_batches_nor_their_order_change_the_categories(
    whole: list[Determination], rng: object, cuts: list[int]
) -> None:
    shuffled = list(whole)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    ends = [0, *sorted(cut for cut in cuts if cut <= len(whole)), len(whole)]
    batches = [kinds_of(shuffled[a:b]) for a, b in pairwise(ends)]
    rng.shuffle(batches)  # type: ignore[attr-defined]
    assert categories(reduce(merge, batches, EMPTY)) == categories(kinds_of(whole))


@settings(max_examples=60)
@given(BATCH)
def test_every_kind_with_a_root_is_in_one_category_and_counts_its_traces_once(
    whole: list[Determination],
) -> None:
    found = categories(kinds_of(whole), most=2)
    assert len(found.shown) <= 2
    kinds = [kind for category in found.every for kind in category.kinds]
    shown = {d.kind for one in whole for d in one.detections}
    assert sorted(kinds) == sorted(shown)
    for category in found.every:
        seen = {one.trace_id for one in whole for d in one.detections if d.kind in category.kinds}
        assert (category.k, category.n) == (len(seen), len(whole))


def test_kinds_whose_words_are_alike_are_one() -> None:
    found = categories(
        kinds_of(
            [
                determination("a", detection("sent without consent")),
                determination("b", detection("messages sent without the consent")),
                determination("c", detection("invented price")),
            ]
        )
    )
    assert [(c.name, c.k) for c in found.shown] == [
        ("messages sent without the consent", 2),
        ("invented price", 1),
    ]


def test_what_a_determiner_says_joins_the_kind_of_a_detector_that_cites_the_same_place() -> None:
    both = [
        determination(
            "a", detection("send without ask", "order", "c1"), detection("no consent", None, "c1")
        ),
        determination("b", detection("no consent", None, "c9")),
    ]
    (category,) = categories(kinds_of(both)).shown
    assert (category.name, category.klass, category.k) == ("send without ask", "code", 2)


def test_kinds_of_detectors_never_join_each_other() -> None:
    linked = determination(
        "a",
        detection("send without ask", "order", "c1"),
        detection("same calls over and over", "loop", "c2"),
        detection("no consent", None, "c1"),
        detection("consent no", None, "c2"),
    )
    assert len(categories(kinds_of([linked])).shown) == 2


def test_a_kind_that_only_follows_from_another_is_no_category() -> None:
    found = categories(
        kinds_of([determination("a", detection("root"), detection("effect", led_by="root"))])
    )
    assert [c.name for c in found.shown] == ["root"]
    assert found.symptoms == ("effect",)


def test_a_trace_that_was_cut_off_was_not_examined_and_a_passed_one_shows_no_fault() -> None:
    kinds = kinds_of(
        [
            determination("cut", detection("a kind"), verdict="uncertain", cause="truncated"),
            determination("well", detection("a kind", "loop"), verdict="pass"),
            determination("down", detection("timeout", route="infrastructure"), verdict="pass"),
        ]
    )
    assert kinds.examined == {"well", "down"}
    (category,) = categories(kinds).shown
    assert (category.name, category.fix_or_eval, category.k, category.n) == (
        "timeout", "infrastructure", 1, 2,
    )  # fmt: skip


def test_beyond_the_most_categories_the_rest_is_folded_rarest_last() -> None:
    often = [determination(f"t{n}", detection("often seen", "loop")) for n in range(3)]
    rare = determination("u", detection("unlike it", "order"))
    found = categories(kinds_of([*often, rare]), most=1)
    assert [c.name for c in found.shown] == ["often seen"]
    assert [(c.name, c.k, c.n) for c in found.folded] == [("unlike it", 1, 4)]


def test_what_only_a_reader_sees_is_counted_over_what_was_read() -> None:
    whole = [
        determination("a", detection("late reply"), detection("over and over", "loop")),
        determination("b", read=False),
        determination("c", cause="unavailable", verdict="uncertain"),
    ]
    counts = {c.name: (c.k, c.n) for c in categories(kinds_of(whole)).shown}
    assert counts == {"late reply": (1, 1), "over and over": (1, 3)}
