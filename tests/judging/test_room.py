"""A whole prompt fits what the pin's model reads, however little that is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helix.errors import PinError
from helix.judging import Job, VerifierSettings, adjudicate
from helix.judging.room import with_room
from helix.model.request import CHARACTERS_PER_TOKEN, Axis, NoReply, Pin, Reply, Request
from helix.model.trace import Trace
from helix.model.verdict import Fidelity
from tests.judging.bench import reply, row, settings_of, trace_of, verdict

LONG = [
    {"kind": "message", "id": f"m{n}", "role": "user" if n % 2 else "assistant",
     "text": f"remark {n}: {'something was said at length ' * 20}"}
    for n in range(400)
]  # fmt: skip
ROWS = tuple(row(f"c{n}", statement=f"Pass = it holds, {'in every way ' * 20}.") for n in range(9))
CITED = {"obs": "m0", "path": "text", "value": "remark 0: something was said"}


def prompts(axis: Axis, tokens: int, max_tokens: int | None) -> list[Request]:
    """The questions about a long trace, to the judge and to the verifier of what it said."""
    pin = Pin(backend="scripted", model="m", identity="judge", max_tokens=max_tokens)
    plain = settings_of(axis=axis, context_tokens=tokens)
    packet = replace(plain.packet, pin=pin)
    verifier = VerifierSettings(packet=packet, scope="all")
    settings = with_room(replace(plain, packet=packet, verifier=verifier), ROWS)
    trace: Trace = trace_of(LONG)
    line = adjudicate(Job(trace, 0, ROWS, {}, Fidelity(complete=True)), settings)
    asked = [next(line)]
    try:
        while len(asked) < 20:
            asked.append(line.send(_answer(asked[-1])))
    except StopIteration:
        return asked
    raise AssertionError("the line does not end")


def _answer(request: Request) -> Reply | NoReply:
    if request.unit.role == "verifier" or request.unit.axis == "criterion":
        return NoReply("unavailable", "")
    verdicts = [verdict(criterion, refs=[CITED]) for criterion in request.unit.criteria]
    return Reply(reply(request.nonce, *verdicts), finish_reason="stop")


@pytest.mark.parametrize("max_tokens", [None, 2_000])
@pytest.mark.parametrize("tokens", [7_000, 9_000, 16_000, 40_000])
@pytest.mark.parametrize("axis", ["trajectory", "criterion"])
def test_prompt_and_answer_fit_the_context(axis: Axis, tokens: int, max_tokens: int | None) -> None:
    asked = prompts(axis, tokens, max_tokens)
    assert {r.unit.role for r in asked} == {"judge", *["verifier"] * (axis == "trajectory")}
    for request in asked:
        taken = sum(len(message.content) for message in request.messages)
        assert taken + (max_tokens or 0) * CHARACTERS_PER_TOKEN <= tokens * CHARACTERS_PER_TOKEN
        assert "remark 0:" in request.messages[1].content


@pytest.mark.parametrize(("tokens", "max_tokens"), [(1_000, None), (6_000, 4_000)])
def test_a_context_without_room_for_a_recording_is_an_error(tokens: int, max_tokens: int) -> None:
    with pytest.raises(PinError, match=r"judge\.context_tokens must be above \d+, .*select"):
        prompts("trajectory", tokens, max_tokens)


def test_a_usual_context_keeps_a_quarter_of_it_as_ever() -> None:
    plain = settings_of()
    kept = with_room(plain, ROWS)
    trace = trace_of(LONG)
    asked = [
        next(adjudicate(Job(trace, 0, ROWS, {}, Fidelity(complete=True)), settings))
        for settings in (plain, kept)
    ]
    assert asked[0].prompt_digest == asked[1].prompt_digest
