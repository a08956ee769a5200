"""What a run would do and spend, found out without doing it (`run.dry=true`).

Every line is carried as far as the cache answers it, so that the counts are those of the run
itself. What follows a question that is still to be asked is not known beforehand, and is said to
be bounded or unknown. No backend is opened.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from helix.engine.asking import ReplyStore
from helix.engine.budget import ANSWER_TOKENS, MICRO
from helix.engine.store import DISK, FOLDER, open_store
from helix.evaluate import survey_run
from helix.judging import Adjudicated, Line, is_usable
from helix.model.config import Config
from helix.model.request import CHARACTERS_PER_TOKEN, NoReply, Pin, Reply, Request
from helix.planning import Prepared
from helix.registry import Judge, Registry
from helix.work import Work


@dataclass(slots=True)
class Questions:
    """What one role would be asked: what the cache answers, what is left, its prompt tokens.

    Tokens are a quarter of the characters; answers are taken at the pin's `max_tokens`, or else
    at what a budget reserves for one. `draws` says that kept replies of no use are asked again.
    """

    judge: Judge
    pin: Pin
    draws: bool = False
    cached: int = 0
    to_ask: int = 0
    prompt_tokens: int = 0

    def cost(self) -> tuple[float, float] | None:
        """Return what the prompts cost, and what it is with the longest answers; in USD."""
        price = self.judge.price(self.pin) if self.judge.price else None
        if price is None:
            return None
        prompts = self.prompt_tokens * price.prompt / MICRO
        answers = self.to_ask * (self.pin.max_tokens or ANSWER_TOKENS)
        return prompts, prompts + answers * price.completion / MICRO

    def lines(self, role: str) -> Iterator[str]:
        """Yield what is to be said of them."""
        total = self.cached + self.to_ask
        if not self.judge.cacheable:
            told = f"{total:,} questions, and what their answers bring with them"
            yield f"{role:<10} {told}; {role}={self.judge.name} asks nobody live"
            return
        yield f"{role:<10} {total} questions: {self.cached} in the cache, {self.to_ask} to ask"
        if not self.to_ask:
            return
        yield f"tokens     about {self.prompt_tokens} in the prompts to ask"
        cost = self.cost()
        if cost is None:
            yield f"cost       unknown: no price is known for {self.pin.model}"
        else:
            most = self.pin.max_tokens or ANSWER_TOKENS
            yield (
                f"cost       about ${cost[0]:.4f} for the prompts, up to ${cost[1]:.4f} with "
                f"answers of {most} tokens"
            )


@dataclass(slots=True)
class Estimate:
    """Traces, cells and questions of a run; `unverified` traces may bring a batch each.

    `tested` says that a run would run a code change's tests as well.
    """

    traces: int
    chosen: int
    unreadable: int
    cells: int = 0
    undecided: int = 0
    unverified: int = 0
    tested: bool = False
    questions: dict[str, Questions] = field(default_factory=dict)

    def text(self) -> str:
        """Return the estimate as lines for a person."""
        code = self.cells - self.undecided
        lines = [
            "Dry run: nothing was asked and nothing was spent.",
            f"traces     {self.chosen} chosen of {self.traces} read, {self.unreadable} unreadable",
            f"cells      {self.cells:,}: code or the cache decides {code:,}, the rest is asked for",
        ]
        if self.tested:
            lines.append("tests      not run; quality.tests_command would run them")
        asked = {role: q for role, q in self.questions.items() if q.cached + q.to_ask}
        for role, questions in asked.items():
            lines += questions.lines(role)
        if self.unverified:
            lines.append(
                f"verifier   up to {self.unverified:,} questions more, one a trace, and one for "
                "each verdict that such a question leaves out; not in the cost"
            )
        live = [q for q in asked.values() if q.judge.cacheable]
        if any(q.to_ask for q in live):
            lines.append(
                "Re-prompts may add up to three questions to each; limits.max_calls bounds them."
            )
        else:
            lines.append("cost       nothing: " + ("no judge is called" if asked else _NOBODY))
        return "\n".join(lines) + "\n"


_NOBODY = "no judge is asked"


def estimate(config: Config, registry: Registry) -> Estimate:
    """Survey, render the questions, answer them from the cache as far as it goes, and count."""
    today = datetime.datetime.now(datetime.UTC).date()
    prepared, source, survey = survey_run(config, registry, today=today)
    work = Work(prepared, survey, source, Path("."))
    chosen = survey.entries.chosen()
    found = Estimate(len(survey.entries), chosen, len(survey.load.failures))
    found.cells = chosen * config.sampling.replicates * len(prepared.rows)
    found.tested = bool(config.quality.tests_command)
    found.questions = _roles(prepared)
    kept = Path(config.paths.state) / FOLDER
    with contextlib.ExitStack() as stack:
        store = None
        there = kept.is_dir() or config.cache.name != DISK
        if there and any(q.judge.cacheable for q in found.questions.values()):
            store = stack.enter_context(open_store(config, registry))
        for job in work.jobs():
            before = found.questions["judge"].to_ask
            line = _carried(job.start(), found.questions, store)
            found.undecided += len(line.line.not_adjudicated)
            found.unverified += "verifier" in found.questions and (
                found.questions["judge"].to_ask > before
            )
    return found


def _roles(prepared: Prepared) -> dict[str, Questions]:
    draws = prepared.config.cache.refresh == "unusable"
    roles = {"judge": Questions(prepared.judge, prepared.pin, draws)}
    if prepared.verifier is not None:
        roles["verifier"] = Questions(prepared.verifier.judge, prepared.verifier.pin, draws)
    return roles


def _carried(line: Line, roles: dict[str, Questions], store: ReplyStore | None) -> Adjudicated:
    """Count the questions of a line and return what becomes of it with the answers kept so far."""
    try:
        request = next(line)
        while True:
            request = line.send(_answer(request, roles[request.unit.role], store))
    except StopIteration as end:
        done: Adjudicated = end.value
        return done


def _answer(request: Request, questions: Questions, store: ReplyStore | None) -> Reply | NoReply:
    if store is not None and questions.judge.cacheable:
        kept = store.get(request.cache_key(questions.judge.protocol))
        if kept is not None and (not questions.draws or is_usable(request, kept)):
            questions.cached += 1
            return kept
    questions.to_ask += 1
    characters = sum(len(message.content) for message in request.messages)
    questions.prompt_tokens += characters // CHARACTERS_PER_TOKEN
    return NoReply("unavailable", "nobody is asked")
