"""Asking a determiner: about half of what failed, until nothing new comes (METHOD 53, 54).

pilot ─► determine ─► is it saturated? ─► the next batch, rebalanced ─► …
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helix.backends.dispatch import Tray, trays
from helix.discover.categories import key_of
from helix.discover.saturation import Curve, curve, stopped, went_quiet
from helix.engine.asking import Asker
from helix.engine.drive import Job, OnEvent, Outcome, run_jobs
from helix.engine.limits import Limits, share_of
from helix.engine.store import open_store
from helix.ingest.sampling import turn
from helix.judging import is_usable
from helix.judging.determiner import DeterminerSettings, determine
from helix.judging.packet import PacketSettings
from helix.judging.room import with_room_to_determine
from helix.model.config import Config
from helix.model.discovery import Determination
from helix.model.preference import Preference
from helix.model.scorecard import UsageTotals
from helix.model.trace import Trace
from helix.pins import make_pin
from helix.registry import Backend, Judge, JudgeSettings, Registry

ROLE = "determiner"


@dataclass(slots=True)
class Asked:
    """What came of asking: determinations, who waits, what broke, the curve of new kinds."""

    said: dict[str, Determination] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    curve: Curve | None = None
    usage: UsageTotals | None = None
    trays: tuple[Tray, ...] = ()


@dataclass(frozen=True, slots=True)
class Determiner:
    """Who determines, under what pin, and where its tasks and replies lie."""

    config: Config
    registry: Registry
    judge: Judge
    settings: DeterminerSettings
    folder: Path

    @classmethod
    def of(
        cls,
        config: Config,
        registry: Registry,
        folder: Path,
        preferences: Sequence[Preference],
        tools: tuple[str, ...],
    ) -> Determiner | None:
        """Return the determiner of a configuration; None where nobody is to be asked."""
        judge: Judge = registry.get("judges", config.judge.backend)
        if not judge.asks:
            return None
        pin = make_pin(config.judge, judge, "judge")
        packet = PacketSettings(config.subject, pin, config.judge.context_tokens, tools)
        settings = DeterminerSettings(
            packet=packet,
            channels=config.subject.complete_channels,
            models=(pin.model, *config.judge.model_aliases),
            preferences=tuple(preferences),
        )
        return cls(config, registry, judge, with_room_to_determine(settings), folder)

    def ask(
        self,
        traces: Mapping[str, Trace],
        code: Mapping[str, Determination],
        on_event: OnEvent | None = None,
    ) -> Asked:
        """Ask about the traces until the last ones brought no new kind of failure."""
        shard = self.config.shard
        limits = Limits(share_of(self.config.limits, shard.index, shard.count))
        found, opened = Asked(), [self._backend()]
        usable = is_usable if self.config.cache.refresh == "unusable" else None
        with contextlib.ExitStack() as stack:
            store = None
            if self.judge.cacheable:
                store = stack.enter_context(open_store(self.config, self.registry))

            while batch := next_batch(found, traces, code, self.config):
                asker = Asker(self.judge, opened[-1], limits, store=store, usable=usable)
                self._carry_out([traces[name] for name in batch], asker, found, on_event)
                found.order += batch
                found.curve = curve(_kinds(found, code), self.config.discover.window)
                if found.pending:
                    # What they will say decides which traces are asked about next.
                    break
                if went_quiet(found.curve) and len(found.order) < len(traces):
                    found.curve = stopped(found.curve)
                    break
                opened.append(self._backend())
        found.usage = limits.meter.totals()
        found.trays = trays(opened)
        return found

    def _backend(self) -> Backend:
        paths, limits = self.config.paths, self.config.limits
        settings = JudgeSettings(
            self.config.judge, paths.state, str(self.folder), limits.deadline_s
        )
        return self.judge.open(settings)

    def _carry_out(
        self, batch: Sequence[Trace], asker: Asker, found: Asked, on_event: OnEvent | None
    ) -> None:
        def done(outcome: Outcome[Determination]) -> None:
            name = outcome.job.key
            if outcome.value is not None:
                found.said[name] = outcome.value
            elif outcome.pending:
                found.pending.append(name)
            else:
                found.broken[name] = f"{type(outcome.error).__name__}: {outcome.error}"

        executor = self.registry.get("executors", self.config.executor.name)
        run_jobs(
            self._jobs(batch),
            {ROLE: asker},
            concurrency=self.config.limits.concurrency,
            unit_s=self.config.limits.unit_s,
            on_done=done,
            on_event=on_event,
            executor=executor.run,
        )

    def _jobs(self, batch: Sequence[Trace]) -> Iterator[Job[Determination]]:
        offset = self.config.sampling.replicate_offset
        for at, trace in enumerate(batch):
            start: Callable[[], object] = lambda t=trace: determine(t, self.settings, offset)  # type: ignore[misc]  # noqa: E731
            yield Job(at, trace.id, start)  # type: ignore[arg-type]


def next_batch(
    found: Asked, traces: Mapping[str, Trace], code: Mapping[str, Determination], config: Config
) -> list[str]:
    """Return the traces to ask about next, so that about half of all that were asked about failed.

    What nobody has read yet is taken by what code says: broken or not (METHOD 53).
    """
    left = [name for name in traces if name not in set(found.order)]
    size = min(config.discover.batch, len(left))
    if not size:
        return []
    turns = {name: turn(name, config.sampling.seed) for name in left}
    broken = sorted((n for n in left if _failing(code[n])), key=turns.__getitem__)
    sound = sorted((n for n in left if not _failing(code[n])), key=turns.__getitem__)
    failed = sum(_failing(found.said.get(name, code[name])) for name in found.order)
    wanted = (len(found.order) + size) // 2 - failed
    take = max(size - len(sound), min(wanted, len(broken), size), 0)
    return sorted(broken[:take] + sound[: size - take], key=turns.__getitem__)


def _kinds(found: Asked, code: Mapping[str, Determination]) -> Iterator[list[str]]:
    """Yield the kinds that each trace showed, code's and the determiner's, in the order asked."""
    for name in found.order:
        said = found.said.get(name)
        both = (*code[name].detections, *(said.detections if said else ()))
        yield [f"{key.detector}\n{key.kind}" for key in map(key_of, both)]


def _failing(one: Determination) -> bool:
    return one.verdict == "fail"
