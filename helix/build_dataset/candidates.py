"""What of a run belongs into a dataset: cells that fail or cannot be decided, and what was seen.

Only what the world left undecided: an outage, a cut recording or repeats that disagree say
nothing of the subject, and are counted by their cause (METHOD 8, 58).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from helix.errors import ArtifactError
from helix.gate import fold_repeats
from helix.model.canonical import digest, source_digest
from helix.model.dataset import DatasetRow, RowSource, UsedRun, Why
from helix.model.discovery import Determination
from helix.model.lines import encode_line
from helix.model.manifest import Manifest
from helix.model.plan import Plan
from helix.model.splits import split_of
from helix.model.verdict import MACHINERY_CAUSES, MatrixVerdictFile, Verdict
from helix.runs import RunFiles

KEY = "dataset.runs"
WAITING = "not adjudicated yet"
_WHY: dict[str, Why] = {"fail": "failing", "uncertain": "uncertain", "pass": "passing"}


@dataclass(slots=True)
class Found:
    """A finished run of evaluate, build-evals, validate or discover, and what it offers.

    `left_out` counts, by cause, what was passed over, once all that is offered was taken; `rows`
    are those that were.
    """

    run: RunFiles
    name: str
    plan: Plan
    seed: int
    discovered: bool
    entries: Manifest
    rows: list[DatasetRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def open(cls, folder: str, seed: int) -> Found:
        """Read the plan and the traces of a run; ArtifactError where the folder is none."""
        path = Path(folder)
        discovered = (path / "discovery.json").is_file()
        run = RunFiles(path) if discovered else RunFiles.open(path, KEY)
        entries = Manifest(run.manifest())
        return cls(run, _name(path), run.plan(), seed, discovered, entries)

    def offered(self, *, passing: bool = False) -> Iterator[DatasetRow]:
        """Read the run's rows one by one; those of passing cells only where they are asked for."""
        if self.discovered:
            for one in self.run.determinations():
                yield from _determined(self, one)
            return
        waiting = self.entries.chosen()
        for trace, group in groupby(self.run.lines(), key=lambda line: line.trajectory_id):
            yield from _judged(self, trace, list(group), passing)
            waiting -= 1
        if waiting:
            self.left_out[WAITING] += waiting * len(self.run.scorecard().criteria)

    def row(self, trace: str, why: Why, line: str, **said: Any) -> DatasetRow:
        """Return a row of this run about a trace."""
        entry = self.entries.find(trace)
        if entry is None:
            raise ArtifactError(f"{self.run.folder}: the manifest lacks the trace '{trace}'")
        place = [trace, why, said.get("criterion_id"), said.get("about")]
        return DatasetRow(
            id=digest(place)[:16],
            trace_id=trace,
            trace_digest=entry.digest,
            split=split_of(trace, self.seed),
            why=why,
            route=entry.route,
            task=entry.task,
            sources=(RowSource(run=self.name, plan=self.plan.digest, line=line),),
            **said,
        )

    def used(self) -> UsedRun:
        """Return the run as a dataset records it."""
        decides = self.plan.decides
        file = "determinations.jsonl" if self.discovered else "verdicts.jsonl"
        suite = decides.get("suite")
        return UsedRun(
            run=self.name,
            command="discover" if self.discovered else "evaluate",
            subject=str(decides.get("subject", {}).get("name", "subject")),
            suite=suite["name"] if isinstance(suite, dict) else None,
            plan=self.plan.digest,
            lines=_digest(self.run.folder / file),
            left_out=dict(sorted(self.left_out.items())),
        )


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_run(folder: str, seed: int) -> Found:
    """Read a finished run with all its rows but those of passing cells, which are many."""
    found = Found.open(folder, seed)
    found.rows.extend(found.offered())
    return found


def _name(folder: Path) -> str:
    try:
        meta = json.loads((folder / "runmeta.json").read_text(encoding="utf-8"))
        return str(meta["runId"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.name


def _judged(
    found: Found, trace: str, repeats: list[MatrixVerdictFile], passing: bool
) -> Iterator[DatasetRow]:
    lines = [source_digest(encode_line(line)) for line in repeats]
    for criterion in repeats[0].dense_map:
        state, flapping = fold_repeats([x.dense_map.get(criterion, "uncertain") for x in repeats])
        said = [_said(line, criterion) for line in repeats]
        # Repeats agree, so one that was answered speaks for those that an outage kept from it.
        at = next((n for n, one in enumerate(said) if isinstance(one, Verdict)), 0)
        one: Verdict | str = "flapping" if flapping else said[at]
        if isinstance(one, str):
            found.left_out.update([one] if state == "uncertain" else [])
        elif state != "pass" or passing:
            yield found.row(trace, _WHY[state], lines[at], **_told(one))
    for line, name in zip(repeats, lines, strict=True):
        for seen in line.candidates:
            refs = () if seen.ref is None else (seen.ref,)
            yield found.row(trace, "candidate", name, about=seen.detection, refs=refs)


def _said(line: MatrixVerdictFile, criterion: str) -> Verdict | str:
    """Return a cell's verdict, or what kept it from one, where it is no matter of the subject."""
    if criterion in line.not_adjudicated:
        return line.not_adjudicated[criterion]
    verdict = next((v for v in line.verdicts if v.criterion_id == criterion), None)
    if verdict is None:
        return "not recorded"
    return verdict.cause if verdict.cause in MACHINERY_CAUSES and verdict.cause else verdict


def _told(said: Verdict) -> dict[str, Any]:
    return {
        "criterion_id": said.criterion_id,
        "result": said.result,
        "critique": said.critique,
        "cause": said.cause,
        "blocked_by": said.blocked_by,
        "refs": said.refs,
    }


def _determined(found: Found, one: Determination) -> Iterator[DatasetRow]:
    if one.verdict == "pass":
        return
    if one.cause in MACHINERY_CAUSES:
        found.left_out[str(one.cause)] += 1
        return
    why: Why = "failing" if one.verdict == "fail" else "uncertain"
    line = source_digest(encode_line(one))
    for said in _roots(one):
        yield found.row(one.trace_id, why, line, result=one.verdict, cause=one.cause, **said)


def _roots(one: Determination) -> Iterator[dict[str, Any]]:
    """Yield what a determination rests on: each root that was detected, else the whole."""
    roots = [detection for detection in one.detections if detection.root]
    for root in roots:
        yield {"about": root.kind, "critique": root.text, "refs": root.refs}
    if not roots:
        yield {"critique": one.root_cause or one.outcome, "refs": one.refs}
