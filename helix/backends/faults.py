"""What an exception of a provider's client means: ask again, give up, or end the run.

litellm raises one class for a missing key, a reset and a page of HTML, and makes up a status for
each, so nothing is decided by its classes alone: the chain of causes is searched for what the
provider or the network really said (DESIGN “litellm rules, measured”).
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from helix.errors import PinError
from helix.model.request import Unavailable

_STACK = "Traceback (most recent call last)"
LONGEST = 400
READ = 2_000
_WRAPPED = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: -|:) )+")
_TRANSPORT = {"TransportError", "APIConnectionError", "ClientError", "ConnectionError"}
_TIMEOUTS = {"Timeout", "TimeoutException", "APITimeoutError", "TimeoutError"}
_GARBLED = re.compile(r"invalid response from LLM endpoint|JSONDecodeError", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum context|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your (?:current )?quota", re.IGNORECASE)
_NO_PROVIDER = "LLM Provider NOT provided"
# litellm's advice on its own switches, which are not the user's to set.
_ADVICE = re.compile(
    r"\.?\s+(?:To drop |Pass model as |Handle with `litellm|If you want to use these params).*",
    re.DOTALL,
)
_ALSO_CALLED = {
    "response_format": ("json_schema", "structured output", "output_config", "grammar"),
    "max_tokens": ("max_completion_tokens", "max_output_tokens"),
}


class Refused(Exception):
    """The provider takes no such parameter, or not with this value: its name and their words."""

    def __init__(self, parameter: str, text: str) -> None:
        super().__init__(text)
        self.parameter, self.text = parameter, text


@dataclass(frozen=True, slots=True)
class Told:
    """What the chain of an exception says: status, headers, parameter, words, error classes."""

    status: int | None
    headers: Mapping[str, str]
    parameter: str | None
    text: str
    names: frozenset[str]
    local: bool


def meaning(
    error: BaseException, sent: Mapping[str, Any], clean: Callable[[str], str], now: float
) -> Exception:
    """Return what to raise instead: Unavailable, Refused, or PinError without what to type.

    `sent` holds the parameters of the request by name, `clean` takes secrets out of a text, `now`
    is the time in seconds since the epoch, which a Retry-After that is a date is counted from.
    """
    told = _told(error)
    text = clean(told.text)[:LONGEST]
    if told.status is None:
        return _without_status(told, text)
    said = f"status {told.status}: {text}" if not told.local else text
    if told.status in (400, 404, 413, 422):
        return _of_a_bad_request(told, said, sent)
    if told.status == 401:
        return PinError(said)
    if told.status == 402 or (told.status == 429 and _NO_QUOTA.search(told.text)):
        return Unavailable(f"nothing left to spend there: {said}")
    return Unavailable(
        said,
        "timeout" if told.status == 408 else "unavailable",
        retry=told.status in (408, 425, 429) or told.status >= 500,
        retry_after=seconds_to_wait(told.headers.get("retry-after"), now),
        rate_limited=told.status == 429,
    )


def seconds_to_wait(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for, a number or a date; None if none."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _without_status(told: Told, text: str) -> Exception:
    """Say what no provider answered: a missed deadline, a broken connection, a garbled answer."""
    if told.names & _TIMEOUTS:
        return Unavailable(text, "timeout", retry=True)
    if "JSONDecodeError" in told.names or _GARBLED.search(told.text):
        return Unavailable(f"not an answer of a model: {text}", retry=True, billed=True)
    if told.names & _TRANSPORT:
        sent = "ConnectError" not in told.names
        return Unavailable(f"the connection failed: {text}", retry=True, billed=sent)
    return Unavailable(text, "judge-error", billed=True)


def _of_a_bad_request(told: Told, said: str, sent: Mapping[str, Any]) -> Exception:
    if _NO_PROVIDER in told.text or told.status == 404:
        return PinError(said)
    if told.status == 413 or _TOO_LONG.search(told.text[:READ]):
        return Unavailable(f"the model reads no prompt of this length: {said}", "judge-error")
    if "ContentPolicyViolationError" in told.names:
        return Unavailable(said, "refusal")
    parameter = _refused(told, sent)
    return Unavailable(said, "judge-error") if parameter is None else Refused(parameter, said)


def _refused(told: Told, sent: Mapping[str, Any]) -> str | None:
    """Return which of the sent parameters the provider names: in its field, else first in words."""
    field = (told.parameter or "").partition(".")[0]
    words = told.text[:READ].lower()
    found: list[tuple[int, str]] = []
    for name in sent:
        for word in (name, *_ALSO_CALLED.get(name, ())):
            if word == field:
                return name
            if at := re.search(rf"(?<![a-z_]){re.escape(word)}(?![a-z_])", words):
                found.append((at.start(), name))
    return min(found)[1] if found else None


def _told(error: BaseException) -> Told:
    chain = list(_chain(error))
    below = [one for one in chain if not type(one).__module__.startswith("litellm")]
    answered = next((one for one in below if _status(one) is not None), None)
    # What litellm refuses by itself, before anything is sent, has a status of the 400s and no
    # cause; its statuses of the 500s are made up.
    local = answered is None and (_status(error) or 500) < 500 and not below
    status = _status(answered) if answered is not None else _status(error) if local else None
    response = getattr(answered, "response", None)
    texts = [type(error).__name__, *(str(one) for one in (*below[:1], error) if str(one))]
    return Told(
        status=status,
        headers={k.lower(): v for k, v in dict(getattr(response, "headers", {})).items()},
        parameter=next((p for one in chain if isinstance(p := _param(one), str)), None),
        text=_words(texts[-1]),
        names=frozenset(cls.__name__ for one in below or chain for cls in type(one).__mro__)
        | {type(error).__name__},
        local=local,
    )


def _words(text: str) -> str:
    """Return what was said, on one line: without litellm's wrapping and stack, out of its JSON."""
    text = _ADVICE.sub("", _WRAPPED.sub("", text)).partition(_STACK)[0]
    try:
        inside = json.loads(text)["error"]["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        inside = text
    return " ".join(str(inside).split()).rstrip(". ")


def _param(error: BaseException) -> Any:
    return getattr(error, "param", None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
