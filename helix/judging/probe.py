"""One digest of how this Helix asks: what a fixed trace and row would be sent as (METHOD 60).

Rubrics, rendering, the reply's schema and what is said of the subject all show in it, so that a
judge validated under other words is seen to be stale. Nothing is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from helix.judging.job import Job, Settings, VerifierSettings
from helix.judging.line import adjudicate
from helix.judging.packet import sliced
from helix.judging.review import Claim, render_review
from helix.model.canonical import digest
from helix.model.criterion import Criterion
from helix.model.request import NoReply
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import Fidelity, Ref

_ROW = Criterion(
    criterion_id="probe",
    statement="What the agent says is what it found.",
    pass_condition="Every figure in the reply stands in a result.",
    fail_condition="A figure in the reply stands in no result.",
    terms=("figure",),
)
_CLAIM = Claim("probe", "pass", "The reply says 4.", (Ref(obs="m2", path="text", value="4"),))


def prompt_digest(settings: Settings) -> str:
    """Return the digest of the first questions to the judge, and of one to the verifier."""
    trace = _trace(settings.routes[0] if settings.routes else None)
    job = Job(trace, 0, (_ROW,), {}, Fidelity(complete=True))
    asked = list(_questions(job, settings))
    if settings.verifier is not None:
        asked.append(_review(job, settings, settings.verifier))
    return digest(asked)


def _questions(job: Job, settings: Settings) -> Iterator[str]:
    """Yield the digests of the first questions to the judge: what is asked when nobody answers."""
    line = adjudicate(job, settings)
    request = next(line)
    with contextlib.suppress(StopIteration):
        while True:
            yield request.prompt_digest
            request = line.send(NoReply("unavailable", ""))


def _review(job: Job, settings: Settings, verifier: VerifierSettings) -> str:
    packet = sliced(job.trace, job.rows, {}, verifier.packet)
    unit, pin = job.unit(job.rows, settings.axis), verifier.packet.pin
    request = render_review(packet, (_CLAIM,), unit, pin, settings.channels, ())
    return request.prompt_digest


def _trace(route: str | None) -> Trace:
    return Trace(
        id="probe",
        source=Source("probe", 0, "helix", "0" * 64),
        input={"prompt": "How many?"},
        output={"response": "4"},
        observations=[Observation("o1", 2, "count", input={"of": "all"}, output={"found": 4})],
        transcript=[Message("m1", 1, "user", "How many?"), Message("m2", 3, "assistant", "4")],
        route=route,
    )
