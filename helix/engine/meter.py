"""What an execution used, counted as it happens; not recorded is not 0 (METHOD 86)."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix.model.request import Reply
from helix.model.scorecard import UsageTotals


@dataclass(slots=True)
class Tally:
    """The sum of one quantity over the replies that recorded it, and how many did not."""

    total: int = 0
    recorded: int = 0
    unrecorded: int = 0

    def add(self, amount: int | None) -> None:
        """Take in one reply's amount; None records none, and no amount can be below 0."""
        if amount is None or amount < 0:
            self.unrecorded += 1
        else:
            self.total, self.recorded = self.total + amount, self.recorded + 1

    @property
    def value(self) -> int | None:
        """The sum, or None where some reply recorded none: a part of a sum is not the sum."""
        return self.total if self.recorded and not self.unrecorded else None


@dataclass(slots=True)
class Meter:
    """Backend requests that were sent, replies that the cache gave, tokens and money.

    `calls` counts attempts, failed ones too. Tokens and money are those of live replies; a reply
    that recorded none is in `unrecorded` of its tally, and `lost` counts the calls that may have
    been billed without a reply: after one of them no sum is the whole.
    """

    calls: int = 0
    cache_hits: int = 0
    shared: int = 0
    recorded: int = 0
    lost: int = 0
    prompt_tokens: Tally = field(default_factory=Tally)
    completion_tokens: Tally = field(default_factory=Tally)
    cost_micro_usd: Tally = field(default_factory=Tally)

    def spend(self, reply: Reply) -> None:
        """Count the usage of one live reply."""
        self.prompt_tokens.add(reply.usage.prompt_tokens)
        self.completion_tokens.add(reply.usage.completion_tokens)
        self.cost_micro_usd.add(reply.usage.cost_micro_usd)

    def elsewhere(self, used: UsageTotals) -> None:
        """Count what another process used; what it did not record is not recorded here."""
        self.calls += used.calls
        self.cache_hits += used.cache_hits
        if used.calls:
            self.prompt_tokens.add(used.prompt_tokens)
            self.completion_tokens.add(used.completion_tokens)
            self.cost_micro_usd.add(used.cost_micro_usd)

    def totals(self) -> UsageTotals:
        """Return what the scorecard says of it."""
        whole = not self.lost
        return UsageTotals(
            calls=self.calls,
            cache_hits=self.cache_hits,
            prompt_tokens=self.prompt_tokens.value if whole else None,
            completion_tokens=self.completion_tokens.value if whole else None,
            cost_micro_usd=self.cost_micro_usd.value if whole else None,
        )
