"""What a judge expects of the agent, drawn before it sees what was done (METHOD 33).

The question shows what the agent was asked and what is known of it, and nothing of what it did,
tools that only the recording betrays included. Where no answer comes, the judge is asked for its
expectation along with its verdicts, as ever, and the line says so.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import msgspec

from helix.judging.exchange import exchange
from helix.judging.job import Job, Settings
from helix.judging.judged import by_the_pin
from helix.judging.own_object import Fault
from helix.judging.packet import sliced
from helix.judging.rendering import derive_nonce, leaf_text, on_one_line, surroundings
from helix.judging.reply import SaidStep, Unusable, object_of, shaped
from helix.judging.rubric import EXPECT_RUBRIC, expectation_schema
from helix.model.canonical import declared_text, digest
from helix.model.criterion import Criterion
from helix.model.lines import portable
from helix.model.packet import MatrixPacket
from helix.model.request import Message, NoReply, Reply, Request
from helix.model.verdict import ExpectedStep

ASKED = ("input",)
_NOTHING_ASKED = NoReply("unavailable", "the trace does not record what the agent was asked")


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    nonce: str
    expected_trajectory: tuple[SaidStep, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected, empty where nothing came of the question; notes and warnings say why."""

    steps: tuple[ExpectedStep, ...] = ()
    notes: tuple[dict[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


def expect(
    job: Job, rows: Sequence[Criterion], settings: Settings
) -> Generator[Request, Reply | NoReply, Expectation]:
    """Ask what the agent should do, again at most twice, and return what came of it."""
    notes: list[dict[str, str]] = []
    request = _request(job, rows, settings)
    said: tuple[tuple[ExpectedStep, ...], Reply] | NoReply = _NOTHING_ASKED
    if request is not None:
        said = yield from exchange(
            request,
            lambda given: by_the_pin(given, settings.models, "judge"),
            lambda asked, reply: read_expectation(reply, asked.nonce),
            lambda steps: [],
            notes,
        )
    if not isinstance(said, NoReply):
        return Expectation(said[0], tuple(notes))
    text = portable(said.text)
    if not notes or notes[-1]["kind"] != "no-reply":
        notes.append({"kind": "no-reply", "cause": said.cause, "text": text})
    warning = f"no expectation was drawn before the recording was seen: {text}"
    return Expectation((), tuple(notes), (warning,))


def read_expectation(reply: Reply, nonce: str) -> tuple[ExpectedStep, ...] | Unusable:
    """Return the expected steps of a reply, or why it holds none."""
    found = object_of(reply, nonce)
    if isinstance(found, Unusable):
        return found
    try:
        answer = shaped(found[0], _Answer)
    except Fault as fault:
        return Unusable("malformed", str(fault))
    given = [step for step in answer.expected_trajectory if step.expected.strip()]
    if not given:
        return Unusable("malformed", "expectedTrajectory must hold at least one step")
    return tuple(ExpectedStep(expected=s.expected, rationale=s.rationale) for s in given)


def _request(job: Job, rows: Sequence[Criterion], settings: Settings) -> Request | None:
    """Return the question, None where the trace does not say what was asked."""
    row = rows[0].model_copy(update={"judge_inputs": ASKED})
    packet = _unseen(sliced(job.trace, [row], {}, settings.packet))
    if not packet.input:
        return None
    unit = msgspec.structs.replace(
        job.unit((), settings.axis), criteria_digest=digest("expectation")
    )
    nonce = derive_nonce(EXPECT_RUBRIC + _body(packet, settings, ""))
    messages = (
        Message("system", EXPECT_RUBRIC),
        Message("user", _body(packet, settings, nonce)),
    )
    return Request(unit, settings.packet.pin, messages, nonce, expectation_schema())


def _unseen(packet: MatrixPacket) -> MatrixPacket:
    """Return the packet without what tells of what the agent did: inferred tools, premises."""
    packet = msgspec.structs.replace(packet, premises=())
    profile = packet.subject_profile
    if profile is None or "tools" not in profile.inferred_fields:
        return packet
    told = msgspec.structs.replace(profile, tools=(), inferred_fields=())
    return msgspec.structs.replace(packet, subject_profile=told)


def _body(packet: MatrixPacket, settings: Settings, nonce: str) -> str:
    parts = [f"<<<ASKED {nonce}", "what the agent was asked:"]
    if packet.route is not None:
        parts.append(f"route: {on_one_line(packet.route)}")
    parts += [*map(leaf_text, packet.input), f"ASKED {nonce}>>>"]
    parts += surroundings(packet, settings.channels)
    parts += ["", f"Schema of the answer: {declared_text(expectation_schema())}"]
    return "\n".join([*parts, f'Put "nonce": "{nonce}" first.'])
