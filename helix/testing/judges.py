"""The conformance suite of judge backends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix.errors import HelixError
from helix.evaluate import run, survey_run
from helix.model.config import Config
from helix.model.request import Pending, Reply, Request, Role, Unavailable
from helix.registry import Backend, Judge, JudgeSettings, Registry
from helix.runs import RunFiles
from helix.testing import sample
from helix.testing.contract import require, require_item
from helix.work import Work

_ROLES: tuple[Role, ...] = ("judge", "verifier", "determiner")


def judge_conforms(
    item: Judge, section: Mapping[str, Any] | None = None, *, answers: bool = True
) -> None:
    """Require that a backend answers questions, or says that it cannot, and does nothing else.

    `section` is the section `judge` of a configuration, without `backend`; `model` is `sample-1`
    where it names none. The questions are those of a small run. With `answers` each must be
    answered so that a verdict can be made of it; without, a backend may be unavailable, or leave
    its questions waiting.
    """
    who = require_item("judges", item)
    require(
        isinstance(item.protocol, int) and item.protocol >= 1,
        f"{who}: protocol must be a whole number from 1 (got {item.protocol!r})",
    )
    with sample.folder() as scratch:
        sample.written(scratch)
        registry = sample.registry_with("judges", item)
        judge = {"model": "sample-1", **(section or {}), "backend": item.name}
        config = sample.config(scratch, judge=judge)
        if not item.asks:
            require(not answers, f"{who} asks nobody, so that it cannot answer")
            return
        asyncio.run(_ask(who, item, config, _questions(config, registry, scratch), scratch))
        if answers:
            _decides(who, config, registry, scratch)


def _questions(config: Config, registry: Registry, scratch: Path) -> list[Request]:
    """Return the first question about each trace of the sample, and the same in other roles."""
    prepared, source, survey = survey_run(config, registry, today=sample.NOW.date())
    jobs = Work(prepared, survey, source, scratch / "run").jobs()
    asked = [step for job in jobs if isinstance(step := next(job.start(), None), Request)]
    first = asked[0]
    others = (msgspec.structs.replace(first.unit, role=role) for role in _ROLES[1:])
    return [*asked, *(msgspec.structs.replace(first, unit=unit) for unit in others)]


async def _ask(
    who: str, item: Judge, config: Config, questions: Sequence[Request], scratch: Path
) -> None:
    settings = JudgeSettings(config.judge, config.paths.state, str(scratch / "run"))
    try:
        backend = item.open(settings)
    except HelixError as error:
        raise AssertionError(f"{who} cannot be opened with these settings: {error}") from None
    async with backend as entered:
        require(hasattr(entered, "ask"), f"{who}: entering the backend must return what is asked")
        before = [msgspec.json.encode(question) for question in questions]
        await asyncio.gather(*(_one(who, entered, question, config) for question in questions))
        after = [msgspec.json.encode(question) for question in questions]
        require(before == after, f"{who} changes the question that it is asked")


async def _one(who: str, backend: Backend, question: Request, config: Config) -> None:
    told = f"{who}, asked as {question.unit.role}"
    try:
        reply = await backend.ask(question)
    except (Unavailable, Pending):
        return
    except Exception as error:
        raise AssertionError(
            f"{told}, may raise Unavailable or Pending alone (got {type(error).__name__}: {error})"
        ) from error
    require(
        isinstance(reply, Reply),
        f"{told}, must return helix.model.request.Reply (got {type(reply).__name__})",
    )
    require(isinstance(reply.text, str), f"{told}: the reply's text must be text")
    names = (None, question.pin.model, *config.judge.model_aliases)
    require(
        reply.returned_model in names,
        f"{told}: returned_model must be the pinned model, or None where the model is not told "
        f"(got {reply.returned_model!r})",
    )


def _decides(who: str, config: Config, registry: Registry, scratch: Path) -> None:
    """Require that the line makes a verdict of every answer."""
    run(config, run_dir=scratch / "decided", registry=registry, now=sample.NOW)
    asked = 0
    for line in RunFiles(scratch / "decided").lines():
        for criterion, cause in line.not_adjudicated.items():
            why = line.not_adjudicated_reasons.get(criterion) or ""
            raise AssertionError(
                f"{who}: its answer about trace {line.trajectory_id!r} is of no use: {cause} {why}"
            )
        asked += sum(1 for verdict in line.verdicts if verdict.produced_by != "code")
        for verdict in line.verdicts:
            require(
                verdict.cause != "malformed",
                f"{who}: its verdict on trace {line.trajectory_id!r} lacks what a verdict must "
                f"have: {verdict.critique}",
            )
    require(asked, f"{who} was asked, and no verdict came of it")
