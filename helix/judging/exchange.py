"""One question, asked again until its answer can be used, whoever is asked (METHOD 40, 46).

An unusable reply earns at most two re-prompts. One that can be read, and whose evidence is missing
or dead, earns one that names it; what was read stands should nothing better come.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

from helix.judging.rendering import again
from helix.judging.reply import Unusable
from helix.model.lines import portable
from helix.model.request import NoReply, Reply, Request

RE_PROMPTS = 2
Said = TypeVar("Said")
Note = dict[str, str]


def exchange(
    first: Request,
    accept: Callable[[Reply | NoReply], Reply | NoReply],
    read: Callable[[Request, Reply], Said | Unusable],
    faults: Callable[[Said], list[str]],
    notes: list[Note],
) -> Generator[Request, Reply | NoReply, tuple[Said, Reply] | NoReply]:
    """Ask, and return what was said with its reply, or why nothing was; `notes` tells the way.

    `accept` says whose reply counts, before any of it is read; `faults` what a re-prompt names.
    """
    request, unusable, named = first, 0, False
    usable: tuple[Said, Reply] | None = None
    while True:
        reply = accept((yield request))
        if isinstance(reply, NoReply):
            notes.append({"kind": "no-reply", "cause": reply.cause, "text": portable(reply.text)})
            return usable or reply
        said = read(request, reply)
        if isinstance(said, Unusable):
            notes.append({"kind": "unusable", "cause": said.cause, "text": said.reason})
            unusable += 1
            if unusable > RE_PROMPTS:
                return usable or NoReply(said.cause, said.reason)
            wrong = [said.reason]
        else:
            usable, wrong = (said, reply), faults(said)
            if not wrong or named:
                return usable
            named = True
            notes += [{"kind": "re-prompt", "text": fault} for fault in wrong]
        unit = msgspec.structs.replace(request.unit, attempt=request.unit.attempt + 1)
        request = again(request, reply.text, wrong, unit)
