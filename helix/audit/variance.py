"""What the repeats of runs say, their verdict lines read again (METHOD 73).

A repeat is known by its trace and its replicate index: its reply was drawn under that index, and
is the same draw wherever it is read back. So an index counts once for a trace, however many runs
give it, and runs repeat each other only where they ask the same of the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from helix.errors import ArtifactError
from helix.gate import Said, Spread, hear, said_in
from helix.model.scorecard import Flips
from helix.model.validation import Pipeline
from helix.model.variance import (
    VARIANCE_SCHEMA_VERSION,
    CellSpread,
    CriterionSpread,
    Needed,
    VarianceReport,
)
from helix.model.verdict import MatrixVerdictFile
from helix.runs import RunFiles
from helix.stats import (
    answers_of,
    disorder,
    flip_spread,
    flipped,
    needed_for_flips,
    needed_for_width,
)
from helix.trust import changed, pipelines

UNDECIDED = "undecided"
HIGHEST_OF_TWO = 0.5
Key = tuple[str, str]


@dataclass(slots=True)
class _Drawn:
    """The repeats of one trace by replicate index, with the digests of what was said."""

    task: str | None
    said: dict[int, dict[str, Said]] = field(default_factory=dict)
    replies: dict[int, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Pool:
    """The lines of all runs, each draw once."""

    pipelines: dict[str, tuple[str, Pipeline]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    traces: dict[Key, _Drawn] = field(default_factory=dict)
    read_again: int = 0
    otherwise: int = 0


def variance_of(runs: Sequence[RunFiles], precision: float = 0.05) -> VarianceReport:
    """Return what the repeats of one run, or of several, come to.

    Raises ArtifactError where two runs ask something else of one criterion: who judges, how it is
    asked, or the criterion itself. They do not repeat each other then.
    """
    pool = _Pool()
    for run in runs:
        _take(pool, run)
    whole, criteria = Spread(), []
    for criterion, klass in pool.classes.items():
        spread = Spread()
        for key, drawn in pool.traces.items():
            repeats = list(drawn.said.values())
            spread.add(_task(key, drawn), hear(repeats, criterion, len(repeats), klass == "code"))
        whole.take(spread)
        criteria.append(_criterion(pool, criterion, klass, spread, precision))
    return VarianceReport(
        schema_version=VARIANCE_SCHEMA_VERSION,
        runs=tuple(str(run.folder) for run in runs),
        traces=len(pool.traces),
        indices=tuple(sorted({at for drawn in pool.traces.values() for at in drawn.said})),
        read_again=pool.read_again,
        otherwise=pool.otherwise,
        criteria=tuple(criteria),
        variance=whole.variance(),
    )


def _take(pool: _Pool, run: RunFiles) -> None:
    card, decides = run.scorecard(), run.plan().decides
    classes = {row.criterion_id: row.klass for row in card.criteria}
    code = frozenset(name for name, klass in classes.items() if klass == "code")
    for criterion, pipeline in pipelines(decides, code).items():
        first, known = pool.pipelines.setdefault(criterion, (str(run.folder), pipeline))
        if known != pipeline:
            what = " and ".join(changed(known, pipeline))
            raise ArtifactError(
                f"{run.folder} does not repeat {first}: {what} differs on {criterion}. Repeats "
                "are of one question; draw them with sampling.replicates=5, or with -m "
                "sampling.replicate_offset=0,1,2,3,4"
            )
    pool.classes.update({name: classes[name] for name in classes if name not in pool.classes})
    for line in run.lines():
        _draw(pool, line)
    _lost(pool, run, decides.get("sampling", {}))


def _draw(pool: _Pool, line: MatrixVerdictFile) -> None:
    made = line.provenance
    key = (line.trajectory_id, made.trace if made else "")
    drawn = pool.traces.setdefault(key, _Drawn(line.task))
    reply = made.reply if made else None
    said = said_in(line)
    if not drawn.said.get(line.replicate):
        drawn.said[line.replicate], drawn.replies[line.replicate] = said, reply
        return
    pool.read_again += 1
    pool.otherwise += drawn.replies[line.replicate] != reply
    for criterion, one in said.items():
        drawn.said[line.replicate].setdefault(criterion, one)


def _lost(pool: _Pool, run: RunFiles, sampling: dict[str, int]) -> None:
    """Note the repeats that left no line: nobody adjudicated them."""
    first, count = sampling.get("replicate_offset", 0), sampling.get("replicates", 1)
    for entry in run.manifest():
        if entry.selected:
            drawn = pool.traces.setdefault((entry.id, entry.digest), _Drawn(entry.task))
            for index in range(first, first + count):
                drawn.said.setdefault(index, {})
                drawn.replies.setdefault(index, None)


def _task(key: Key, drawn: _Drawn) -> str:
    return f"task {drawn.task}" if drawn.task else f"trace {key[0]}"


def _criterion(
    pool: _Pool, criterion: str, klass: str, spread: Spread, precision: float
) -> CriterionSpread:
    flips = spread.flips()
    return CriterionSpread(
        criterion_id=criterion,
        klass=klass,
        flips=flips,
        variance=spread.variance(),
        needed=None if flips is None else _needed(spread, flips, precision),
        cells=tuple(_cells(pool.traces.items(), criterion)),
    )


def _cells(traces: Iterable[tuple[Key, _Drawn]], criterion: str) -> Iterable[CellSpread]:
    for (trace, _), drawn in traces:
        said = {at: drawn.said[at].get(criterion) for at in sorted(drawn.said)}
        given = [one.answer for one in said.values() if one is not None and one.answer is not None]
        answers = answers_of(given)
        twice = len(given) > 1 and not all(one is not None and one.by_code for one in said.values())
        yield CellSpread(
            trace_id=trace,
            task=drawn.task,
            states={
                str(at): one.answer[1] if one is not None and one.answer else UNDECIDED
                for at, one in said.items()
            },
            rate=float(flipped(answers)) if twice else None,
            interval=flip_spread(answers) if twice else None,
            entropy=disorder(answers) if twice else None,
        )


def _needed(spread: Spread, flips: Flips, precision: float) -> Needed:
    found = spread.flip_estimate()
    if found is None:
        return Needed(precision=precision, repeats=None, traces=None)
    rate = float(found.rate)
    size = needed_for_width(rate, precision) * flips.traces / found.effective
    return Needed(
        precision=precision,
        repeats=needed_for_flips(min(rate, HIGHEST_OF_TWO), precision),
        traces=math.ceil(size),
    )
