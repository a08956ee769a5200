"""What people vouch for can be cited, in its own words and under its own id."""

from __future__ import annotations

import msgspec
import pytest

from helix.grounding import Ground, all_weak, complaints, resolved, settle, settle_na
from helix.judging.packet import PacketSettings, build
from helix.judging.rendering import render
from helix.model.config import SubjectConfig
from helix.model.packet import Premise
from helix.model.request import Pin, Request, Unit
from helix.model.verdict import Litmus, NotApplicable, Ref, Verdict
from tests.judging.bench import row, trace_of

PIN = Pin("scripted", "m", "scripted:m")
NORM = Premise(
    id="p1", text="A loan on hold\nis never extended.", kind="normative", by="desk", at="2031-05-02"
)
TRACE = trace_of([{"id": "m1", "kind": "message", "role": "user", "text": "It is on hold, right?"}])
SAID = Ref(obs="m1", path="text", value="It is on hold")


def request(*premises: Premise) -> Request:
    settings = PacketSettings(SubjectConfig(name="desk"), PIN, 128_000, premises=premises)
    packet = build(TRACE, [row()], {}, settings)
    return render(packet, Unit("judge", "trajectory", "t1", "d", ("c1",), "x", 0), PIN, ())


def test_a_premise_is_inside_the_prompt_and_so_in_its_hash() -> None:
    text = request(NORM).messages[1].content
    assert "[p1] text — premise, normative, desk, 2031-05-02\n    A loan on hold\n    is" in text
    assert request(NORM).prompt_digest != request().prompt_digest
    assert request(NORM).cache_key(1) != request().cache_key(1)


@pytest.mark.parametrize(
    ("ref", "cause"),
    [
        (Ref(obs="p1", path="text", value="a loan on hold is never"), "dead-ref"),
        (Ref(obs="p1", path="text", value="A loan on hold is never"), None),
        (Ref(obs="p1", path="text", value="A loan on hold is never extended."), None),
        (Ref(obs="p1", path="kind", value="normative"), "dead-ref"),
        (Ref(obs="p1", path="text"), "dead-ref"),
        (Ref(obs="p2", path="text", value="A loan on hold"), "dead-ref"),
    ],
)
@pytest.mark.parametrize("shown", [True, False])
def test_a_premise_can_be_cited_in_its_own_words(ref: Ref, cause: str | None, shown: bool) -> None:
    settings = PacketSettings(SubjectConfig(name="desk"), PIN, 128_000, premises=(NORM,))
    ground = Ground(TRACE, premises=(NORM,))
    if shown:
        ground = Ground.of(TRACE, build(TRACE, [row()], {}, settings))
    given = Verdict(
        criterion_id="c1", critique="because", result="pass", claim="It may not be extended.",
        refs=(SAID, ref), litmus=Litmus(premise="the norm holds here", grounded_by="p1"),
    )  # fmt: skip
    done = resolved(given, ground)
    assert settle(done, [], ground).cause == cause
    assert bool(complaints(done, [], ground)) == (cause is not None)


IN_GENERAL = Ref(obs="p1", path="text", value="A loan on hold is never extended.")


@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize(
    ("about", "refs", "cause"),
    [
        (None, (IN_GENERAL,), "not-decidable"),
        (None, (IN_GENERAL, SAID), None),
        ("t1", (IN_GENERAL,), None),
    ],
)
def test_what_people_vouch_for_in_general_decides_no_trace_by_itself(
    about: str | None, refs: tuple[Ref, ...], cause: str | None, verified: bool
) -> None:
    told = msgspec.structs.replace(NORM, trace_id=about)
    ground = Ground(TRACE, premises=(told,), verified=verified)
    given = Verdict(
        criterion_id="c1", critique="because", result="pass", claim="It was not extended.",
        refs=refs, litmus=Litmus(premise=""),
    )  # fmt: skip
    done = resolved(given, ground)
    assert settle(done, [], ground).cause == cause
    assert bool(complaints(done, [], ground)) == (cause is not None)
    excused = settle_na(NotApplicable(criterion_id="c1", critique="no loan", refs=refs), ground)
    assert isinstance(excused, NotApplicable) == (cause is None)


def test_a_norm_beside_weak_evidence_does_not_make_it_strong() -> None:
    ground = Ground(TRACE, premises=(NORM,))
    short = Ref(obs="m1", path="text", value="hold")
    assert all_weak(ground.resolved([IN_GENERAL, short]))
    assert not all_weak(ground.resolved([IN_GENERAL, SAID]))


def test_a_trace_that_has_an_id_of_a_premise_is_looked_at_first() -> None:
    fake = trace_of([{"id": "p1", "kind": "message", "role": "user", "text": "All is allowed."}])
    ground = Ground(fake, premises=(NORM,))
    mine, norm = ground.resolved(
        [
            Ref(obs="p1", path="text", value="All is allowed."),
            Ref(obs="p1", path="text", value="A loan on hold"),
        ]
    )
    assert (mine.match, norm.match) == ("exact", "dead")
