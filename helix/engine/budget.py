"""The hard budget of a run in calls, tokens and money, reserved before each call.

What a call may take is estimated beforehand: its prompt a quarter of its characters (or as many
tokens per character as the model was seen to count, if more), its answer `max_tokens` of the pin
(without one `ANSWER_TOKENS`, or the longest answer seen, if longer). Money is that at the price
the backend knows; where it knows none, at the most that a token of this model was seen to cost,
and until a reply has shown one, its calls go one at a time. A call that may not fit waits while
others are under way, which mostly take less than they may; one that cannot fit is not made.

The reply settles what was taken. A call that may have been billed without a reply (a missed
deadline, an answer that was cut off) stays reserved. Once a reply did not record what is bounded,
nothing more is asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from helix.engine.meter import Meter
from helix.model.config import LimitsConfig
from helix.model.request import (
    CHARACTERS_PER_TOKEN,
    NoReply,
    Pin,
    Price,
    Reply,
    Request,
    Unavailable,
)

ANSWER_TOKENS = 4_096
MICRO = 1_000_000
PriceOf = Callable[[Pin], Price | None]
_UNKNOWN = "usage was not recorded, so the budget cannot be kept"


class _Model:
    """What is known of one model's appetite; `lost` is what unanswered calls may have taken."""

    def __init__(self, price: Price | None) -> None:
        self._price = price
        self._per_character = 1 / CHARACTERS_PER_TOKEN
        self._longest = ANSWER_TOKENS
        self._per_token: float | None = None
        self.lost = [0, 0]

    def tokens(self, characters: int, most: int | None) -> tuple[int, int]:
        """Return what a prompt and its answer may take."""
        return math.ceil(characters * self._per_character), most or self._longest

    def cost(self, prompt: int, answer: int) -> float | None:
        """Return what that may cost in micro-USD, None while nothing is known."""
        if self._price is not None:
            return round(prompt * self._price.prompt + answer * self._price.completion, 3)
        return None if self._per_token is None else round((prompt + answer) * self._per_token, 3)

    def learn(self, characters: int, reply: Reply) -> None:
        """Take in what a call was seen to take."""
        prompt, answer = reply.usage.prompt_tokens, reply.usage.completion_tokens
        if prompt is not None and characters:
            self._per_character = max(self._per_character, prompt / characters)
        if answer is not None:
            self._longest = max(self._longest, answer)
        tokens = (prompt or 0) + (answer or 0)
        if reply.usage.cost_micro_usd is not None and tokens:
            self._per_token = max(self._per_token or 0.0, reply.usage.cost_micro_usd / tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """What one call may take, reserved until it is settled."""

    model: _Model
    characters: int
    prompt: int
    answer: int

    @property
    def cost(self) -> float | None:
        """The micro-USD that it may take, as known by now."""
        return self.model.cost(self.prompt, self.answer)


class Budget:
    """What a run may still spend, shared by judge and verifier."""

    def __init__(self, limits: LimitsConfig, meter: Meter) -> None:
        self._limits, self._meter = limits, meter
        self._measures = limits.max_tokens is not None or limits.max_cost_usd is not None
        self._models: dict[tuple[str, str, str | None], _Model] = {}
        self._held: set[Hold] = set()
        self._started = 0
        self._settled = asyncio.Event()

    async def reserve(self, request: Request, price: PriceOf | None = None) -> Hold | str:
        """Reserve a call, when it fits; or return the sentence that says which bound forbids it."""
        model = self._model(request.pin, price)
        while True:
            hold = self._needed(request, model)
            refusals = (self._calls(), self._tokens(hold), self._money(hold))
            refused = next((r for r in refusals if isinstance(r, str)), None)
            if refused is not None:
                return refused
            if all(refusals):
                self._held.add(hold)
                self._started += 1
                return hold
            await self._settled.wait()

    def settle(self, hold: Hold, answer: Reply | NoReply | Unavailable | None) -> None:
        """Give back what a call did not take; `answer` is None where it was not made."""
        self._held.discard(hold)
        if answer is None:
            self._started -= 1
        elif isinstance(answer, Reply):
            self._meter.spend(answer)
            hold.model.learn(hold.characters, answer)
        elif isinstance(answer, NoReply) or answer.billed:
            self._meter.lost += 1
            hold.model.lost[0] += hold.prompt
            hold.model.lost[1] += hold.answer
        self._settled.set()
        self._settled = asyncio.Event()

    def _model(self, pin: Pin, price: PriceOf | None) -> _Model:
        key = (pin.backend, pin.model, pin.base_url)
        if key not in self._models:
            known = price(pin) if price and self._limits.max_cost_usd is not None else None
            self._models[key] = _Model(known)
        return self._models[key]

    def _needed(self, request: Request, model: _Model) -> Hold:
        if not self._measures:
            return Hold(model, 0, 0, 0)
        characters = sum(len(message.content) for message in request.messages)
        return Hold(model, characters, *model.tokens(characters, request.pin.max_tokens))

    def _calls(self) -> bool | str:
        most = self._limits.max_calls
        return most is None or self._started < most or f"limits.max_calls={most} is spent"

    def _tokens(self, hold: Hold) -> bool | str:
        """Tell whether the tokens fit now; a sentence says that they never will."""
        most = self._limits.max_tokens
        if most is None:
            return True
        used = (self._meter.prompt_tokens, self._meter.completion_tokens)
        if any(tally.unrecorded for tally in used):
            return f"limits.max_tokens={most}: {_UNKNOWN}"
        recorded = sum(tally.total for tally in used)
        left = most - recorded - sum(sum(model.lost) for model in self._models.values())
        needed = hold.prompt + hold.answer
        if left <= 0:
            return f"limits.max_tokens={most} is spent ({recorded} recorded)"
        if needed > left:
            return (
                f"limits.max_tokens={most} leaves {left}, and the next call may take {needed}: "
                f"{hold.prompt} for the prompt, {hold.answer} for the answer"
            )
        return needed + sum(h.prompt + h.answer for h in self._held) <= left

    def _money(self, hold: Hold) -> bool | str:
        """Tell whether the money fits now; a sentence says that it never will."""
        most = self._limits.max_cost_usd
        if most is None:
            return True
        if self._meter.cost_micro_usd.unrecorded:
            return f"limits.max_cost_usd={most}: {_UNKNOWN}"
        recorded = self._meter.cost_micro_usd.total
        left = round(most * MICRO, 3) - recorded - sum(self._lost())
        if left <= 0:
            return f"limits.max_cost_usd={most} is spent ({recorded / MICRO} recorded)"
        needed = hold.cost
        if needed is None:
            return not self._held
        if needed > left:
            return (
                f"limits.max_cost_usd={most} leaves {left / MICRO:.6f}, and the next call may "
                f"cost {needed / MICRO:.6f}"
            )
        held = [other.cost for other in self._held]
        return None not in held and needed + sum(cost or 0 for cost in held) <= left

    def _lost(self) -> Iterator[float]:
        return (model.cost(*model.lost) or 0.0 for model in self._models.values())
