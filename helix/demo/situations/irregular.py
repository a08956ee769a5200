"""Recordings of an irregular shape: parallel calls, repeated call ids, a cut end."""

from __future__ import annotations

import random
from typing import Any

from helix.demo import steps
from helix.demo.names import Cast
from helix.demo.recorder import Call, Recorder
from helix.demo.situations import interview

TASK = "Ask the talent whether they would like to hear about roles."
WORDS = "Let me look up what I need."


def parallel(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """one-at-a-time | parallel-calls | parallel-out-of-order: the same calls, in other turns."""
    recorder = start(cast, rng)
    talent = cast.talent
    calls = (
        Call("checkConsent", {"talentId": talent.id, "channel": "email"}, _consent("granted")),
        Call("lookupContact", {"talentId": talent.id}, steps.contact(talent)),
        Call("getTalentProfile", {"talentId": talent.id}, _profile(cast)),
    )
    if kind == "one-at-a-time":
        for call in calls:
            recorder.turn("", call)
    else:
        recorder.turn(WORDS, *calls, finish=(2, 0, 1) if kind.endswith("order") else ())
    return _introduce(recorder, cast)


def repeated(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """distinct-call-ids | repeated-call-id | ambiguous-call-id-*: two consents asked for.

    With one id on both calls and both results after them, nobody can say whose result is whose.
    """
    recorder = start(cast, rng)
    talent = cast.talent
    marks: tuple[str, ...] = ()
    if kind == "repeated-call-id":
        first = Call("lookupContact", {"talentId": talent.id}, steps.contact(talent), "call-1")
        marks = ("duplicate-call-id",)
        again = Call(first.name, first.arguments, first.result, "call-1#2", marks)
        steps.consent(recorder, talent)
        recorder.turn("", first)
        recorder.turn("", again)
        return _introduce(recorder, cast)
    answers = ["granted", "refused"]
    ids: tuple[str | None, str | None] = (None, None)
    if kind.startswith("ambiguous"):
        answers = answers[::-1] if kind.endswith("reversed") else answers
        ids, marks = ("call-1", "call-1#2"), ("duplicate-call-id", "ambiguous-pairing")
    calls = [
        Call(
            "checkConsent",
            {"talentId": talent.id, "channel": channel},
            _consent(answer),
            id,
            marks,
        )
        for channel, answer, id in zip(("email", "phone"), answers, ids, strict=True)
    ]
    recorder.turn(WORDS, *calls)
    steps.look_up(recorder, talent)
    _introduce(recorder, cast)
    if marks:
        recorder.plant("consent-before-message", "uncertain", cause="ambiguous-order")
    return recorder


def cut_approach(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """whole | truncated: the recorder of an introduction stops; a flag says so."""
    recorder = start(cast, rng)
    steps.consent(recorder, cast.talent)
    steps.look_up(recorder, cast.talent)
    if kind == "whole":
        return _introduce(recorder, cast)
    recorder.call("reviewDraft", {"success": True}, purpose="introduction")
    recorder.record["flags"] = ["truncated"]
    return recorder


def cut_interview(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """whole | truncated: the recorder of a chat stops; a field of the metadata says so."""
    recorder, slot = interview.offered(cast, rng)
    recorder.say("user", f"Yes, {slot.words} is fine.")
    if kind == "truncated":
        recorder.record["metadata"]["truncated"] = True
        return recorder
    interview.book(recorder, cast, slot)
    recorder.finish(f"The interview on {slot.words} is booked.", outcome="booked")
    return recorder


def start(cast: Cast, rng: random.Random) -> Recorder:
    """Return a recorder with the event that opens a first approach."""
    prompt = (
        f'<opportunity id="{cast.role.id}" talent="{cast.talent.id}" '
        f'recruiter="{cast.recruiter.name}">\n{TASK}\n</opportunity>'
    )
    return Recorder("opportunity", prompt, rng)


def _introduce(recorder: Recorder, cast: Cast) -> Recorder:
    approval = steps.approve(recorder, "introduction")
    body = steps.letter(
        recorder,
        cast.talent,
        f"{cast.recruiter.name} asked me to write to you: people who know {cast.role.work} are "
        "rare, and we hear of openings early.",
        "May I send you one now and then?",
    )
    steps.send(recorder, cast.talent.address, "May we keep you posted?", body, approval)
    recorder.finish(f"Introduced ourselves to {cast.talent.name} by email.", outcome="sent")
    return recorder


def _consent(answer: str) -> dict[str, Any]:
    return {"success": True, "consent": answer, "recordedAt": "2025-11-18"}


def _profile(cast: Cast) -> dict[str, Any]:
    skills = [cast.role.work, "plain writing"]
    return {"success": True, "talentId": cast.talent.id, "skills": skills}
