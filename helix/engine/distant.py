"""Conversations that are held elsewhere, in another process or on another machine."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

from helix.errors import ExecutorError
from helix.model.request import NoReply, Pending, Reply, Request

T = TypeVar("T")
Answer = Reply | NoReply


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """What a distant conversation came to."""

    value: T


class Distant(Protocol[T]):
    """A conversation that is held elsewhere: its first request is here, what follows is awaited.

    As with a generator, `next` gives that request, or StopIteration with the value where there is
    nothing to ask.
    """

    def __next__(self) -> Request: ...

    def send(self, answer: Answer, /) -> Awaitable[Request | Ended[T]]: ...

    def throw(self, pending: Pending, /) -> Awaitable[Request | Ended[T]]: ...

    def close(self) -> None: ...


class Over(Generic[T]):
    """A conversation that came to its end elsewhere, with a value or with an error."""

    def __init__(self, end: T | Exception) -> None:
        self._end = end

    def __next__(self) -> NoReturn:
        """Raise StopIteration with the value, or the error."""
        if isinstance(self._end, Exception):
            raise self._end
        raise StopIteration(self._end)

    async def send(self, answer: Answer | Pending) -> NoReturn:
        """Refuse an answer: nothing was asked."""
        raise ExecutorError("a conversation that is over takes no answer")

    throw = send

    def close(self) -> None:
        """Nothing is open."""
