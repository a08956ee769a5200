"""What a run would do and spend, found out without doing it (`run.dry=true`).

Every first question is rendered and looked up in the cache, so that the counts are those of the
run itself; what re-prompts would add is not known beforehand, and is said to be unknown.
"""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from helix.evaluate import survey_run
from helix.judging import Adjudicated, Line
from helix.model.config import Config
from helix.model.criterion import Suite
from helix.model.request import CHARACTERS_PER_TOKEN, NoReply, Request
from helix.registry import Registry
from helix.work import Work


@dataclass(frozen=True, slots=True)
class Estimate:
    """Traces, cells and first questions of a run; tokens are a quarter of the characters.

    `live` is False for a judge whose replies are recorded, so that nobody is asked.
    """

    traces: int
    chosen: int
    unreadable: int
    cells: int
    code_cells: int
    questions: int
    cached: int
    prompt_tokens: int
    live: bool

    def text(self) -> str:
        """Return the estimate as lines for a person."""
        calls = self.questions - self.cached
        lines = [
            "Dry run: nothing was asked and nothing was spent.",
            f"traces     {self.chosen} chosen of {self.traces} read, {self.unreadable} unreadable",
            f"cells      {self.cells}, of which code decides {self.code_cells}",
        ]
        if self.questions and not self.live:
            lines += [
                f"questions  {self.questions} first ones, answered from recordings: "
                "none is asked live",
                "cost       nothing: no judge is called",
            ]
        elif self.questions:
            lines += [
                f"questions  {self.questions} first ones: {self.cached} in the cache, "
                f"{calls} to ask",
                f"tokens     about {self.prompt_tokens} in the prompts to ask",
                "cost       unknown: no price is recorded for this model",
                "Re-prompts may add up to three questions to each; limits.max_calls bounds them.",
            ]
        else:
            lines.append("cost       nothing: no judge is asked")
        return "\n".join(lines) + "\n"


def estimate(config: Config, registry: Registry, suite: Suite | None = None) -> Estimate:
    """Survey, render every first question, look it up, and count."""
    today = datetime.datetime.now(datetime.UTC).date()
    prepared, source, survey = survey_run(config, registry, suite, today=today)
    work = Work(prepared, survey, source, Path("."))
    count: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        store = None
        judge = prepared.judge
        kept = Path(config.paths.state) / "cache"
        if judge.asks and judge.cacheable and kept.is_dir():
            store = stack.enter_context(registry.get("caches", "disk").open(config.paths.state))
        for job in work.jobs():
            requests, line = _unanswered(job.start())
            count["undecided"] += len(line.line.not_adjudicated)
            for request in requests:
                count["questions"] += 1
                if store is not None and store.get(request.cache_key(judge.protocol)) is not None:
                    count["cached"] += 1
                    continue
                characters = sum(len(m.content) for m in request.messages)
                count["tokens"] += characters // CHARACTERS_PER_TOKEN
    chosen = sum(1 for entry in survey.entries if entry.selected)
    cells = chosen * config.sampling.replicates * len(prepared.rows)
    return Estimate(
        traces=len(survey.entries),
        chosen=chosen,
        unreadable=len(survey.load.failures),
        cells=cells,
        code_cells=cells - count["undecided"],
        questions=count["questions"],
        cached=count["cached"],
        prompt_tokens=count["tokens"],
        live=judge.cacheable,
    )


def _unanswered(line: Line) -> tuple[list[Request], Adjudicated]:
    """Return the first questions of a line, and what is left of it when nobody answers them."""
    asked: list[Request] = []
    try:
        asked.append(next(line))
        while True:
            asked.append(line.send(NoReply("unavailable", "nobody is asked")))
    except StopIteration as end:
        return asked, end.value
