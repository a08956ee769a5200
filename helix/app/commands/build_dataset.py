"""`helix build-dataset`: candidates of runs into a dataset that only grows, split by trace."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from helix.app.commands.evaluate import with_demo_traces
from helix.app.job import Outcome
from helix.build_dataset import Built, build
from helix.build_dataset.build import ADDED
from helix.build_dataset.store import TASKS, TRACES
from helix.errors import ConfigError, ExitCode
from helix.model.config import Config
from helix.model.dataset import SplitCount
from helix.model.splits import PARTS, USUAL
from helix.registry import load
from helix.reports.summary import listed, tallied
from helix.reports.visible import one_line
from helix.reports.words import counted, wrapped

_SHOWN = 6


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Add to the dataset, write what is new into the run directory; 0 when the work was done."""
    if config.run.dry:
        raise ConfigError("run.dry must be false (got true): build-dataset asks nobody anything")
    built = build(with_demo_traces(config), load(), run_dir)
    return Outcome(("\n".join(_text(built)) + "\n").encode("utf-8"), ExitCode.PASS)


def _text(built: Built) -> Iterator[str]:
    splits = built.record.splits.values()
    traces = sum(split.traces for split in splits)
    tasks = sum(split.tasks for split in splits)
    whys = sum((Counter(split.rows) for split in splits), Counter[str]())
    yield f"{built.folder}: {counted(traces, 'trace')} ({built.traces:,} new)"
    yield f"  rows   {whys.total():,} ({built.rows:,} new): {tallied(whys)}"
    if tasks:
        yield f"  tasks  {tasks:,} ({built.tasks:,} new) to fill in: {TASKS}"
    if built.labels:
        yield f"  labels {built.labels:,}"
    yield from _splits(built.record.splits, traces)
    if built.left_out:
        told = one_line(tallied(built.left_out))
        yield from wrapped(f"Left out, because they say nothing of the subject: {told}.")
    if built.short:
        short = one_line(listed(built.short, _SHOWN, f"see {ADDED}"))
        yield from wrapped(f"Fewer pass than fail: {short}.")
    if traces:
        path = shlex.quote(f"subject.traces={built.folder / TRACES / 'dev.jsonl'}")
        yield f"Evaluate a split: helix evaluate {path} criteria.file=SUITE.yaml"


def _splits(splits: Mapping[str, SplitCount], total: int) -> Iterator[str]:
    """Yield how each split is filled; what lies outside its usual share is told."""
    for part in PARTS:
        count, (low, high) = splits[part], USUAL[part]
        share = count.traces * 100 / total if total else 0
        usual = "" if not total or low <= share <= high else f"; {low} to {high} % are usual"
        traces, rows = counted(count.traces, "trace"), counted(sum(count.rows.values()), "row")
        yield f"  {part:<5}  {traces} ({share:.0f} %{usual}), {rows}"
