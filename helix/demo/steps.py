"""The tool calls that every situation is made of, with the results that they get."""

from __future__ import annotations

from typing import Any

from helix.demo.names import AGENCY, AGENT, Cast, Person, Role
from helix.demo.recorder import Recorder

GREETINGS = ("Hello {first},", "Dear {first},", "Good morning {first},")
CLOSINGS = ("Kind regards", "Best wishes", "With kind regards")


def letter(recorder: Recorder, person: Person, *paragraphs: str) -> str:
    """Return an email's text with greeting and signature."""
    greeting = recorder.rng.choice(GREETINGS).format(first=person.first)
    closing = f"{recorder.rng.choice(CLOSINGS)}\n{AGENT}, {AGENCY}"
    return "\n\n".join([greeting, *paragraphs, closing])


def look_up(recorder: Recorder, person: Person) -> int:
    """Call lookupContact, which finds the person; return the call's seq."""
    return recorder.call("lookupContact", contact(person), talentId=person.id)


def contact(person: Person) -> dict[str, Any]:
    """Return what lookupContact says of a person."""
    return {
        "success": True,
        "talentId": person.id,
        "name": person.name,
        "email": person.address,
        "language": "en",
        "timezone": "Europe/Amberly",
    }


def approve(recorder: Recorder, purpose: str) -> str:
    """Call reviewDraft, which approves; return the approval's id."""
    draft = f"draft-{recorder.rng.randrange(100, 999)}"
    approval = f"ok-{recorder.rng.randrange(1000, 9999)}"
    result = {"success": True, "draftId": draft, "approved": True, "approvalId": approval}
    result["findings"] = []
    recorder.call("reviewDraft", result, draftId=draft, purpose=purpose)
    return approval


def send(recorder: Recorder, to: str, subject: str, body: str, approval: str, **more: Any) -> int:
    """Call sendMessage, which delivers; return the call's seq."""
    result = {
        "success": True,
        "messageId": f"msg-{recorder.rng.randrange(10000, 99999)}",
        "status": "accepted by the mail server",
    }
    arguments = {"to": to, "subject": subject, "body": body, "approvalId": approval, **more}
    return recorder.call("sendMessage", result, **arguments)


def consent(recorder: Recorder, person: Person, answer: str = "granted") -> int:
    """Call checkConsent for email; return the call's seq."""
    return recorder.call(
        "checkConsent",
        {
            "success": True,
            "talentId": person.id,
            "channel": "email",
            "consent": answer,
            "source": "talent portal, privacy settings",
            "recordedAt": "2025-11-18",
        },
        talentId=person.id,
        channel="email",
    )


def opening(role: Role, **changed: Any) -> dict[str, Any]:
    """Return what getOpportunity says of a role."""
    return {
        "success": True,
        "opportunityId": role.id,
        "status": "open",
        "title": role.title,
        "summary": f"Work on {role.work} in a team of {role.team}.",
        "company": role.company,
        "location": role.town,
        "salaryBand": {"currency": "EUR", "min": role.band_low, "max": role.band_high},
        "remoteDaysPerWeek": role.remote_days,
        "startDate": role.start,
        **changed,
    }


def load_role(recorder: Recorder, cast: Cast, **changed: Any) -> int:
    """Call getOpportunity for the cast's role; return the call's seq."""
    result = opening(cast.role, **changed)
    return recorder.call("getOpportunity", result, opportunityId=cast.role.id)


def fail(recorder: Recorder, tool: str, error: str, **arguments: Any) -> int:
    """Call a tool that answers with success false; return the call's seq."""
    return recorder.call(tool, {"success": False, "error": error}, **arguments)


def retry_later(recorder: Recorder, task: str, after: str) -> int:
    """Call scheduleRetry; return the call's seq."""
    job = f"job-{recorder.rng.randrange(100, 999)}"
    return recorder.call(
        "scheduleRetry", {"success": True, "jobId": job, "runsAt": after}, task=task, after=after
    )


def hand_over(recorder: Recorder, to: Person, note: str) -> int:
    """Call handOver to a recruiter; return the call's seq."""
    case = f"case-{recorder.rng.randrange(100, 999)}"
    result = {"success": True, "caseId": case, "assignee": to.name}
    return recorder.call("handOver", result, to=to.name, note=note)
