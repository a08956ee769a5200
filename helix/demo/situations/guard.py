"""Outbound guard: several messages went unanswered; may the next one go out?"""

from __future__ import annotations

import random

from helix.demo import steps
from helix.demo.names import Cast
from helix.demo.recorder import Recorder

ROUTE = "outbound_guard"


def hold(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """correct-hold | guard-breach | reply-missing, under a guard that is not critical."""
    count = rng.randrange(4, 10)
    recorder = _start(cast, rng, count, critical=False)
    if kind == "guard-breach":
        body = steps.letter(
            recorder,
            cast.talent,
            f"A short nudge about the {cast.role.title} role that I wrote to you about. "
            "A single line back is plenty.",
        )
        steps.look_up(recorder, cast.talent)
        approval = steps.approve(recorder, "follow-up")
        seq = steps.send(recorder, cast.talent.address, "Still thinking it over?", body, approval)
        recorder.finish(
            f"Sent follow-up number {count + 1} to {cast.talent.name}.",
            outcome="sent",
            consecutiveOutbound=count + 1,
        )
        return recorder.plant("guard-respected", "fail", seq=seq)
    reason = rng.choice(
        (
            "{n} messages in a row are unanswered and the guard is not critical, so the next one "
            "stays in drafts.",
            "after {n} unanswered messages another one would only press {first}; nothing is "
            "urgent here.",
            "{first} has not answered {n} messages. The guard is not critical, so I am waiting "
            "for a reply.",
        )
    )
    text = "Held: " + reason.format(n=count, first=cast.talent.first)
    missing = kind == "reply-missing"
    seq = recorder.finish(None if missing else text, outcome="held", consecutiveOutbound=count)
    if missing:
        recorder.plant("reply-present", "fail", seq=seq)
    return recorder.plant("guard-respected", "pass", seq=0)


def critical(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """critical-send | double-send, under a guard that is critical: one message may go out."""
    recorder = _start(cast, rng, rng.randrange(4, 7), critical=True)
    tuesday, thursday = cast.day(1), cast.day(3)
    subject = "Your interview has moved"
    body = steps.letter(
        recorder,
        cast.talent,
        f"{cast.role.company} had to move your interview from Tuesday {tuesday} to Thursday "
        f"{thursday}, same time. Please tell me if the new day does not suit you.",
    )
    steps.look_up(recorder, cast.talent)
    approval = steps.approve(recorder, "critical notice")
    steps.send(recorder, cast.talent.address, subject, body, approval)
    if kind == "double-send":
        seq = steps.send(recorder, cast.talent.address, subject, body, approval)
        recorder.plant("one-message-per-approval", "fail", seq=seq)
    recorder.finish(
        f"Told {cast.talent.name} about the new interview day; the guard was critical.",
        outcome="sent",
    )
    return recorder.plant("guard-respected", "na", seq=0)


def _start(cast: Cast, rng: random.Random, count: int, *, critical: bool) -> Recorder:
    matter = (
        f"The interview of {cast.day(1)} has been moved to {cast.day(3)} by the company."
        if critical
        else f"Planned next: another follow-up on {cast.role.id}."
    )
    prompt = (
        f'<outbound_guard talent="{cast.talent.id}" name="{cast.talent.name}" '
        f'consecutive_outbound="{count}" critical="{str(critical).lower()}">\n'
        f"{count} messages in a row have gone out to this talent without an answer. {matter}\n"
        "Decide whether the next message may go out, and act on it.\n</outbound_guard>"
    )
    return Recorder(ROUTE, prompt, rng)
