"""Reading an answer that somebody put into a folder: hostile until it is found to be sound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from helix.judging import fault_of, read_reviews
from helix.judging.own_object import Fault, own_object
from helix.model.request import Reply, Request, same_name

MOST_BYTES = 8_000_000
LONGEST_NAME = 100


class Refused(Exception):
    """Why a file is no answer; its text is for the person who wrote the file."""


def answer_text(place: Path) -> str | None:
    """Return the text of an answer file, None where there is none; Refused for anything else."""
    try:
        found = os.lstat(place)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(found.st_mode):
        raise Refused("is a symbolic link; put the file itself there")
    if not stat.S_ISREG(found.st_mode):
        raise Refused("is no plain file; put a JSON file there")
    if found.st_size > MOST_BYTES:
        raise Refused(f"has {found.st_size:,} bytes; an answer has at most {MOST_BYTES:,}")
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            return file.read(MOST_BYTES + 1).decode("utf-8")
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def usable(text: str, request: Request) -> Reply:
    """Return the reply that a file's text is, or raise Refused with what to mend in it."""
    try:
        value, _ = own_object(text, request.nonce)
    except Fault as fault:
        raise Refused(str(fault) if text.strip() else "is empty") from None
    reviewer = reviewed_by(value.get("reviewer"))
    if any(same_name(reviewer, judge) for judge in request.not_by):
        raise Refused(
            f"the reviewer '{reviewer}' gave the verdicts that are checked here; "
            "another reviewer must answer"
        )
    reply = Reply(text=text, made_by=reviewer)
    fault_found = _fault(reply, request)
    if fault_found:
        raise Refused(fault_found)
    return reply


def _fault(reply: Reply, request: Request) -> str | None:
    if (fault := fault_of(request, reply)) is not None:
        return fault.reason
    if request.unit.role != "verifier":
        return None
    reviews = read_reviews(reply, request.nonce, request.unit.criteria)
    missing = [row for row in request.unit.criteria if row not in reviews]  # type: ignore[operator]
    return f"no review for: {', '.join(missing)}" if missing else None


def reviewed_by(name: object) -> str:
    """Return the name of who answered as it is recorded; Refused for what is none."""
    if not isinstance(name, str) or same_name(name, ""):
        raise Refused('"reviewer" must name who judged, as a text (it is missing)')
    name = name.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(f'"reviewer" must be one line of at most {LONGEST_NAME} characters')
    return name
