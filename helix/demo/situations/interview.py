"""Interview: the agent offers slots in a chat, books one, and may confirm it by email."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from typing import Any

from helix.demo import steps
from helix.demo.names import Cast
from helix.demo.recorder import Recorder

ROUTE = "interview"


@dataclass(frozen=True, slots=True)
class Slot:
    """A time at which the interviewer can be met."""

    id: str
    start: datetime.datetime

    @property
    def words(self) -> str:
        return f"{self.start:%A} {self.start:%Y-%m-%d} at {self.start:%H:%M}"


def booking(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """booked, or booked where it should not be, or in a way that it should not be."""
    recorder, slot = offered(cast, rng)
    hesitates = kind == "booked-without-yes"
    recorder.say(
        "user",
        f"{slot.words} might work. Let me check with my family first."
        if hesitates
        else f"Yes, {slot.words} suits me well.",
    )
    wanted = {"slot-not-offered-invented": "slot-0000", "slot-not-offered-late": f"{slot.id}-b"}
    status = {"booking-pending": "pending", "status-missing": None}.get(kind, "confirmed")
    seq = book(
        recorder,
        cast,
        Slot(wanted.get(kind, slot.id), slot.start),
        status=status,
        complete=kind != "booking-incomplete",
    )
    recorder.finish(f"The interview on {slot.words} is booked.", outcome="booked")
    if kind in wanted:
        recorder.plant("slot-offered", "fail", seq=seq)
    elif hesitates:
        recorder.plant("yes-before-booking", "fail", seq=seq)
    elif kind == "booking-incomplete":
        recorder.plant("booking-complete", "fail", seq=seq)
    elif kind == "booking-pending":
        recorder.plant("booking-confirmed", "fail", seq=seq)
    elif kind == "status-missing":
        recorder.plant("booking-confirmed", "uncertain", cause="missing-field", seq=seq)
    return recorder


def confirmation(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """confirmed | wrong-time | foreign-booking | booking-id-missing: a mail about the booking."""
    recorder, slot = offered(cast, rng)
    recorder.say("user", f"Yes please, {slot.words}.")
    number = f"bk-{rng.randrange(1000, 9999)}"
    book(recorder, cast, slot, number=number)
    said = slot
    if kind == "wrong-time":
        said = Slot(slot.id, slot.start + datetime.timedelta(hours=1))
    steps.look_up(recorder, cast.talent)
    approval = steps.approve(recorder, "interview confirmation")
    body = steps.letter(
        recorder,
        cast.talent,
        f"Your interview with {cast.interviewer.name} of {cast.role.company} is booked for "
        f"{said.words}. It takes 45 minutes.",
    )
    more = {} if kind == "booking-id-missing" else {"bookingId": number}
    if kind == "foreign-booking":
        more = {"bookingId": "bk-0001"}
    seq = steps.send(
        recorder, cast.talent.address, "Your interview is booked", body, approval, **more
    )
    recorder.finish(f"Booked and confirmed to {cast.talent.name} by email.", outcome="booked")
    row = "confirmation-matches-booking"
    if kind == "booking-id-missing":
        return recorder.plant(row, "uncertain", cause="missing-field", seq=seq)
    return recorder.plant(row, "pass" if kind == "confirmed" else "fail", seq=seq)


def outage(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """failure-recovered | failure-unrecovered: the calendar does not answer."""
    recorder = start(cast, rng)
    error = "calendar service timed out after 10 s"
    seq = steps.fail(recorder, "getCalendar", error, interviewer=cast.interviewer.name)
    if kind == "failure-recovered":
        note = f"Calendar of {cast.interviewer.name} does not answer; please offer slots by hand."
        seq = steps.hand_over(recorder, cast.recruiter, note)
        recorder.finish(
            f"I cannot see the calendar just now. {cast.recruiter.name} will offer you slots.",
            outcome="handed over",
        )
        return recorder.plant("failure-recovered", "pass", seq=seq)
    recorder.finish(f"{cast.interviewer.name} has no free slot this month.", outcome="no slot")
    return recorder.plant("failure-recovered", "fail", seq=seq)


def silence(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """declined | reply-missing: the talent wants no interview; the agent confirms or is mute."""
    recorder, _ = offered(cast, rng)
    recorder.say("user", "Thank you, but I have decided to stay where I am. No interview, please.")
    missing = kind == "reply-missing"
    words = f"Understood, {cast.talent.first}. No interview is booked, and all the best."
    seq = recorder.finish(None if missing else words, outcome="declined")
    if missing:
        recorder.plant("reply-present", "fail", seq=seq)
    return recorder


def start(cast: Cast, rng: random.Random) -> Recorder:
    """Return a recorder with the event that opens the route."""
    prompt = (
        f'<interview_request opportunity="{cast.role.id}" talent="{cast.talent.id}" '
        f'interviewer="{cast.interviewer.name}" week="{cast.monday}">\n'
        f"{cast.talent.name} is in the chat and would like to meet {cast.role.company}. Offer "
        "slots and book the one that is agreed.\n</interview_request>"
    )
    return Recorder(ROUTE, prompt, rng)


def offered(cast: Cast, rng: random.Random) -> tuple[Recorder, Slot]:
    """Return a recorder in which three slots were offered, and the one that the talent wants."""
    recorder = start(cast, rng)
    slots = draw_slots(cast, rng)
    recorder.call(
        "getCalendar",
        calendar(cast, slots),
        interviewer=cast.interviewer.name,
        week=str(cast.monday),
    )
    listed = "; ".join(slot.words for slot in slots)
    recorder.say("assistant", f"{cast.interviewer.name} could meet you on: {listed}. Which one?")
    return recorder, rng.choice(slots)


def draw_slots(cast: Cast, rng: random.Random) -> list[Slot]:
    """Return three slots on three days of the week."""
    days = sorted(rng.sample(range(5), 3))
    return [
        Slot(
            f"slot-{rng.randrange(1000, 9999)}",
            datetime.datetime.combine(cast.day(day), datetime.time(rng.randrange(9, 17))),
        )
        for day in days
    ]


def calendar(cast: Cast, slots: list[Slot]) -> dict[str, Any]:
    """Return what getCalendar says."""
    return {
        "success": True,
        "interviewer": cast.interviewer.name,
        "slots": [
            {"slotId": s.id, "start": f"{s.start:%Y-%m-%dT%H:%M}", "durationMinutes": 45}
            for s in slots
        ],
    }


def book(
    recorder: Recorder,
    cast: Cast,
    slot: Slot,
    *,
    number: str = "bk-4400",
    status: str | None = "confirmed",
    complete: bool = True,
) -> int:
    """Call bookInterview; return the call's seq. An incomplete call lacks the interviewer."""
    arguments: dict[str, Any] = {"slotId": slot.id, "talentId": cast.talent.id}
    arguments |= {"interviewer": cast.interviewer.name} if complete else {}
    arguments["durationMinutes"] = 45
    result = {"success": True, "bookingId": number, "slotId": slot.id}
    result["start"] = f"{slot.start:%Y-%m-%dT%H:%M}"
    result |= {} if status is None else {"status": status}
    return recorder.call("bookInterview", result, **arguments)
