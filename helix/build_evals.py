"""The judge suite of a run on the criterion axis: each row's fixed prompt, its verdicts, the rows.

    evaluate (judge.axis=criterion) ─► suite.yaml, judges.jsonl, criterion-verdicts.jsonl

Few-shot candidates come from traces of the TRAIN split alone, so that the held-out traces stay
unseen (METHOD 38, 39, 62).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helix.errors import ConfigError
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.judging.criterion import prompt_of
from helix.judging.job import Settings
from helix.model.canonical import digest
from helix.model.config import Config
from helix.model.criterion import Criterion
from helix.model.judges import CriterionVerdict, JudgeSpec, Shot
from helix.model.lines import encode_line
from helix.model.splits import split_of
from helix.model.verdict import MatrixVerdictFile, Ref, Verdict, by_code_alone
from helix.suite.dumping import suite_page

SUITE, JUDGES, VERDICTS = "suite.yaml", "judges.jsonl", "criterion-verdicts.jsonl"
MOST_OF_A_RESULT = 2


@dataclass(frozen=True, slots=True)
class Built:
    """What was written and where: rows of the suite, judges among them, verdicts."""

    folder: Path
    rows: int
    judges: int
    verdicts: int


def check_axis(config: Config) -> None:
    """Refuse another axis than the one whose suite is built."""
    axis = config.judge.axis
    if axis != "criterion":
        raise ConfigError(
            f"judge.axis must be criterion for build-evals (got {axis}); "
            "for another axis type: helix evaluate"
        )


def build(done: Finished) -> Built:
    """Write the judge suite of a finished run into its folder."""
    prepared = done.prepared
    asked = {row.criterion_id for row in done.criteria}
    whole = prepared.suite.suite
    kept = [r for r in whole.criteria if r.status == "retired" or r.criterion_id in asked]
    suite = whole.model_copy(update={"criteria": tuple(kept)})
    judged = [row for row in done.criteria if row.klass != "code"]
    shots = _candidates(done.verdicts(), prepared.config.validation.seed)
    settings = prepared.settings
    specs = [_spec(row, settings, shots.get(row.criterion_id, ())) for row in judged]
    verdicts = list(_verdicts(done.verdicts(), {row.criterion_id for row in judged}))
    atomic_write(done.run_dir / SUITE, suite_page(suite))
    for name, lines in ((JUDGES, specs), (VERDICTS, verdicts)):
        atomic_write(done.run_dir / name, b"".join(encode_line(x) + b"\n" for x in lines))
    return Built(done.run_dir, len(suite.criteria), len(specs), len(verdicts))


def _spec(row: Criterion, settings: Settings, shots: Iterable[Shot]) -> JudgeSpec:
    system, user = prompt_of(row, settings)
    used = {shot.trace_id for shot in row.few_shot}
    return JudgeSpec(
        criterion_id=row.criterion_id,
        criterion_digest=row.digest,
        statement=row.statement,
        pass_condition=row.pass_condition,
        fail_condition=row.fail_condition,
        judge_inputs=row.judge_inputs,
        terms=row.terms,
        few_shot=tuple(
            Shot(trace_id=s.trace_id, text=s.text, critique=s.critique, result=s.result)
            for s in row.few_shot
        ),
        candidates=tuple(shot for shot in shots if shot.trace_id not in used),
        prompt_digest=digest([system, user]),
        system=system,
        user=user,
    )


def _verdicts(lines: Iterable[MatrixVerdictFile], judged: set[str]) -> Iterator[CriterionVerdict]:
    """Yield the verdicts on rows that a judge has a part in, in plan order."""
    for line in lines:
        for verdict in line.verdicts:
            if verdict.criterion_id in judged:
                yield _of_line(verdict, line)


def _of_line(verdict: Verdict, line: MatrixVerdictFile) -> CriterionVerdict:
    by_judge = verdict.code is None or verdict.code.result == "pass"
    return CriterionVerdict(
        **{name: getattr(verdict, name) for name in Verdict.__struct_fields__},
        trace_id=line.trajectory_id,
        replicate=line.replicate,
        judge_model=line.judge_model if by_judge else None,
        temperature=line.temperature if by_judge else None,
        judge_identity=line.judge_identity if by_judge else None,
    )


def _candidates(lines: Iterable[MatrixVerdictFile], seed: int) -> dict[str, list[Shot]]:
    """Return by row the first decided verdicts on TRAIN traces, few of each result."""
    found: dict[str, list[Shot]] = {}
    for line in lines:
        if split_of(line.trajectory_id, seed) != "train":
            continue
        for verdict in line.verdicts:
            shots = found.setdefault(verdict.criterion_id, [])
            same = [shot for shot in shots if shot.result == verdict.result]
            again = any(shot.trace_id == line.trajectory_id for shot in shots)
            if _shows(verdict) and len(same) < MOST_OF_A_RESULT and not again:
                shots.append(_shot(line.trajectory_id, verdict))
    return found


def _shows(verdict: Verdict) -> bool:
    """Whether a verdict is a judge's, decided, and not one that its verifier failed on."""
    if verdict.result == "uncertain" or by_code_alone(verdict):
        return False
    return verdict.verification is None or verdict.verification.status != "failed"


def _shot(trace: str, verdict: Verdict) -> Shot:
    text = "\n".join(map(_place, verdict.refs))
    return Shot(trace_id=trace, text=text, critique=verdict.critique, result=verdict.result)


def _place(ref: Ref) -> str:
    if ref.scan is not None:
        return f"[{ref.path}] a scan for '{ref.scan.pattern}' found nothing"
    return f"[{ref.path}] {ref.value or ''}"
