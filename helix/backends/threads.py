"""Calling plain functions beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *args: object) -> T:
    """Return what a function returns that is called in a thread of its own.

    The thread is a daemon: a function that hangs past its deadline holds up neither the run nor
    its end. How many run at once is bounded by who asks.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def body() -> None:
        value, error = None, None
        try:
            value = function(*args)
        except BaseException as raised:
            error = raised if _can_cross(raised) else RuntimeError(repr(raised))
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=body, name="helix-ask", daemon=True).start()
    return await future


def _can_cross(error: BaseException) -> bool:
    """Tell whether an exception may end the asking coroutine: no exit, no end of an iterator."""
    return isinstance(error, Exception) and not isinstance(error, StopIteration)
