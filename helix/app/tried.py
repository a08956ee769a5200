"""A suite and traces that are tried on each other without a run: for explain and test."""

from __future__ import annotations

import argparse
import atexit
import importlib.resources
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from helix.app import console
from helix.app.commands.evaluate import DEMO, DEMOS
from helix.checks import load_modules
from helix.errors import SelectionError, TraceError, UsageError, unknown
from helix.ingest import Input
from helix.model.config import SubjectConfig
from helix.model.trace import Trace
from helix.registry import Registry, load
from helix.reports.visible import visible
from helix.suite import CompiledRow, CompiledSuite, compile
from helix.suite import load as load_suite
from helix.suite.batch import Batch
from helix.suite.explain import Explanation, explain
from helix.suite.mutation import MutationScore, try_rows
from helix.survey import routed

_MOST_TOLD = 5


@dataclass(slots=True)
class Tried:
    """A compiled suite, the traces as they can be read again, and what is known of the subject."""

    suite: CompiledSuite
    source: Input
    subject: SubjectConfig
    batch: Batch = field(default_factory=Batch)

    @classmethod
    def open(cls, args: argparse.Namespace, settings: Mapping[str, list[str]]) -> Tried:
        """Compile the suite and find the traces that a command's arguments name."""
        registry = load()
        load_modules(settings["checks.modules"], registry)
        fields = settings["subject.route_field"]
        if len(fields) > 1:
            raise UsageError("subject.route_field takes one path")
        subject = SubjectConfig(
            tools=tuple(settings["subject.tools"]),
            routes=tuple(settings["subject.routes"]),
            route_field=fields[0] if fields else None,
        )
        suite = compile(load_suite(suite_file(args.suite)), registry)
        source = open_traces(args.traces, args.format, registry)
        inventory = frozenset((*subject.tools, *suite.suite.tools))
        return cls(suite, source, subject, Batch(inventory))

    def traces(self) -> Iterator[Trace]:
        """Read the traces, and note what they hold."""
        for trace in self.batch.watch(self.source):
            yield routed(trace, self.subject)

    def tell_unread(self) -> None:
        """Say on standard error what could not be read, so that nobody takes it for examined."""
        failures = [*self.batch.failures, *self.source.astray]
        for failure in failures[:_MOST_TOLD]:
            line = f" line {failure.line}" if failure.line else ""
            console.tell(visible(f"{failure.file}{line}: {failure.reason}"))
        if len(failures) > _MOST_TOLD:
            console.tell(f"and {len(failures) - _MOST_TOLD:,} more that could not be read")

    def row(self, criterion_id: str) -> CompiledRow:
        """Return the active row of an id; SelectionError names what there is."""
        row = self.suite.row(criterion_id)
        if row is None:
            ids = [row.id for row in self.suite.rows]
            raise SelectionError(unknown("criterion", criterion_id, ids))
        return row

    def explanation(self, criterion_id: str, trace_id: str) -> Explanation:
        """Return how a row's verdict on a trace comes about."""
        row = self.row(criterion_id)
        wanted = None
        for trace in self.traces():
            if trace.id == trace_id:
                wanted = trace
        if wanted is None:
            raise SelectionError(unknown("trace", trace_id, self.batch.ids))
        return explain(row, wanted, self.batch.context, self.subject)

    def mutation(self, seed: int, per_trace: int) -> MutationScore:
        """Return which known faults the rows see; the traces are read twice, never kept."""
        for _ in self.traces():
            pass
        again = (routed(t, self.subject) for t in self.source if isinstance(t, Trace))
        context = self.batch.context
        return try_rows(
            self.suite.rows, again, context, self.subject, seed=seed, per_trace=per_trace
        )


def suite_file(name: str) -> str:
    """Return the file of a suite, which may be a demo's by its name."""
    demo = _demo(name, "SUITE")
    if demo is None:
        return name
    return str(importlib.resources.files("helix.demo") / f"{demo}.suite.yaml")


def traces_path(path: str) -> str:
    """Return where traces lie; those of a demo are written to a folder that goes with us."""
    demo = _demo(path, "--traces")
    if demo is None:
        return path
    from helix.demo import generator

    folder = tempfile.mkdtemp(prefix="helix-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / f"{demo}.jsonl"
    generator.write(file)
    return str(file)


def open_traces(path: str, format: str, registry: Registry) -> Input:
    """Find the traces that `--traces` names; UsageError where it names none."""
    try:
        return Input.open(traces_path(path), format, registry)
    except TraceError as error:
        raise UsageError(str(error).replace("subject.traces", "--traces")) from None


def _demo(given: str, name: str) -> str | None:
    if not given.startswith(DEMO):
        return None
    demo = given.removeprefix(DEMO)
    if demo not in DEMOS:
        raise UsageError(f"{name}: {unknown('demo', demo, DEMOS)}")
    return demo
