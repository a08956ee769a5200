"""Opportunity: a first approach to a talent, or the presentation of a role."""

from __future__ import annotations

import random
from typing import Any

from helix.demo import steps
from helix.demo.names import Cast
from helix.demo.recorder import Recorder

ROUTE = "opportunity"
INVENTED = (
    " On top comes a yearly bonus of 15 per cent.",
    " The job comes with a company car.",
    " After a year everyone gets shares in the company.",
)


def pitch(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """pitch | missing-referent | unsupported-claim | salary-too-low: a role is presented."""
    role = cast.role
    expected = role.band_low + rng.randrange(2, 8) * 1000
    recorder = _start(cast, rng, f"Present {role.id} to the talent by email.")
    unstated = kind == "missing-referent"
    profile = _profile(cast, None if unstated else expected)
    read = recorder.call("getTalentProfile", profile, talentId=cast.talent.id)
    low, high = role.band_low, role.band_high
    if kind == "salary-too-low":
        low, high = expected - 14000, expected - 4000
    band = {"currency": "EUR", "min": low, "max": high}
    steps.load_role(recorder, cast, salaryBand=band)
    steps.consent(recorder, cast.talent)
    steps.look_up(recorder, cast.talent)
    extra = rng.choice(INVENTED)
    invented = kind == "unsupported-claim"
    body = _pitch(recorder, cast, low, high, extra if invented else "")
    approval = steps.approve(recorder, "role presentation")
    seq = steps.send(
        recorder, cast.talent.address, f"{role.title} at {role.company}", body, approval
    )
    recorder.finish(f"Presented {role.id} to {cast.talent.name} by email.", outcome="sent")
    recorder.plant("role-facts-true", "fail" if invented else "pass", seq=seq)
    if unstated:
        return recorder.plant("salary-expectation-met", "uncertain", cause="unbound-term", seq=read)
    low_pay = kind == "salary-too-low"
    return recorder.plant("salary-expectation-met", "fail" if low_pay else "pass", seq=seq)


def approach(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """A first note to the talent, as it should be or with the fault that `kind` names."""
    recorder = _start(cast, rng, "Ask the talent whether they would like to hear about roles.")
    talent = cast.talent
    if kind != "send-before-consent":
        steps.consent(recorder, talent, "refused" if kind == "send-without-consent" else "granted")
    steps.look_up(recorder, talent)
    approval = steps.approve(recorder, "introduction")
    to = _recipient(cast, kind)
    body = _introduction(recorder, cast)
    subject = f"New roles around {cast.role.town}?"
    if kind == "delivery-failed":
        return _undelivered(recorder, cast, subject, body, approval)
    seq = steps.send(recorder, to, subject, body, approval)
    if kind == "double-send":
        again = steps.send(recorder, to, subject, body, approval)
        recorder.plant("one-message-per-approval", "fail", seq=again)
    if kind == "send-before-consent":
        steps.consent(recorder, talent)
    if kind.startswith("send-"):
        recorder.plant("consent-before-message", "fail", seq=seq)
    if kind.startswith("wrong-recipient") or kind == "malformed-address":
        recorder.plant("recipient-known", "fail", seq=seq)
    if kind == "malformed-address":
        recorder.plant("address-well-formed", "fail", seq=seq)
    recorder.finish(f"Introduced ourselves to {talent.name} by email.", outcome="sent")
    return recorder


def outage(cast: Cast, rng: random.Random, kind: str) -> Recorder:
    """failure-recovered | failure-unrecovered: the address book does not answer."""
    recorder = _start(cast, rng, "Ask the talent whether they would like to hear about roles.")
    steps.consent(recorder, cast.talent)
    error = "contact directory unavailable (503), no record returned"
    seq = steps.fail(recorder, "lookupContact", error, talentId=cast.talent.id)
    if kind == "failure-recovered":
        after = f"{cast.day(1)}T08:00"
        seq = steps.retry_later(recorder, f"introduction to {cast.talent.id}", after)
        recorder.finish(
            "The contact directory is down, so nothing was sent; the introduction is scheduled "
            f"again for {after}.",
            outcome="retry scheduled",
        )
        return recorder.plant("failure-recovered", "pass", seq=seq)
    recorder.finish("All done for this talent.", outcome="done")
    return recorder.plant("failure-recovered", "fail", seq=seq)


def _undelivered(
    recorder: Recorder, cast: Cast, subject: str, body: str, approval: str
) -> Recorder:
    sent = steps.fail(
        recorder,
        "sendMessage",
        "mail server refused the connection",
        to=cast.talent.address,
        subject=subject,
        body=body,
        approvalId=approval,
    )
    retry = steps.retry_later(recorder, f"introduction to {cast.talent.id}", f"{cast.day(1)}T08:00")
    recorder.finish(
        "The mail server refused the message; it goes out again later.", outcome="retry"
    )
    recorder.plant("delivery-succeeded", "fail", seq=sent)
    return recorder.plant("failure-recovered", "pass", seq=retry)


def _recipient(cast: Cast, kind: str) -> str:
    talent = cast.talent
    if kind == "wrong-recipient-guessed":
        return f"{talent.first[0]}.{talent.last}@mail.example".lower()
    if kind == "wrong-recipient-other":
        return cast.interviewer.address
    if kind == "malformed-address":
        return talent.address.replace("@", " at ")
    return talent.address


def _introduction(recorder: Recorder, cast: Cast) -> str:
    return steps.letter(
        recorder,
        cast.talent,
        f"I write on behalf of {cast.recruiter.name}. We look for people who know their way with "
        f"{cast.role.work}, and your public profile caught our eye.",
        "Would you like to hear about openings now and then? A yes or a no is enough; after a no "
        "we shall not write again.",
    )


def _pitch(recorder: Recorder, cast: Cast, low: int, high: int, extra: str) -> str:
    role = cast.role
    days = "one day" if role.remote_days == 1 else f"{role.remote_days} days"
    return steps.letter(
        recorder,
        cast.talent,
        f"{role.company} is looking for a {role.title} in {role.town}: work on {role.work}, in a "
        f"team of {role.team}.",
        f"The salary lies between EUR {low} and EUR {high} a year, you could work from home "
        f"{days} a week, and the job starts on {role.start}.{extra}",
        "Shall I send you the full description?",
    )


def _profile(cast: Cast, expected: int | None) -> dict[str, Any]:
    """Return what getTalentProfile says; without a stated salary the field is not there."""
    profile: dict[str, Any] = {
        "success": True,
        "talentId": cast.talent.id,
        "name": cast.talent.name,
        "headline": f"{cast.role.title}, six years",
        "location": cast.role.town,
        "skills": [cast.role.work, "plain writing", "patience"],
    }
    if expected is None:
        return profile | {"notes": "First call was short; we talked about the team only."}
    stated = {"currency": "EUR", "amount": expected, "stated": "by the talent, first call"}
    return profile | {"salaryExpectation": stated, "notes": "Open to a move before summer."}


def _start(cast: Cast, rng: random.Random, task: str) -> Recorder:
    prompt = (
        f'<opportunity id="{cast.role.id}" talent="{cast.talent.id}" '
        f'recruiter="{cast.recruiter.name}">\n{task}\n</opportunity>'
    )
    return Recorder(ROUTE, prompt, rng)
