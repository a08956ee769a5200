"""`helix criteria lint`: all that compiling finds, and what makes a good suite besides.

Errors are what compiling refuses, the uniformity gate among it (METHOD 20). Warnings are rows
that can run and that their author probably did not mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from helix.checks.conditions import ANY, Selector
from helix.checks.roles import ROLES
from helix.errors import did_you_mean
from helix.fieldpath import FieldPath
from helix.model.canonical import canonical_text
from helix.model.criterion import Criterion
from helix.registry import Registry
from helix.suite.compile import CompiledRow, Settings, examine
from helix.suite.load import SuiteFile, load
from helix.suite.problems import Finding

PASS_PREFIX = "Pass = "
_DETERMINISM = ("missing-determinism",)
_TOOL_FIELDS = ("tool", "recovery_tools", "allow", "deny", "exempt", "schemas", "calls_of")


def lint(
    suite: str | Path | SuiteFile, registry: Registry, inventory: Collection[str] = ()
) -> list[Finding]:
    """Return everything found in a suite, in file order; SuiteError where it is no suite at all.

    Where the subject's `inventory` or the suite's `tools` are given, other names are warned of.
    """
    file = suite if isinstance(suite, SuiteFile) else load(suite)
    rows, findings = examine(file, registry, Settings())
    compiled = {row.id: row for row in rows}
    for row in file.rows:
        if row.criterion.status == "retired":
            continue
        for key, text in _warnings(row.criterion, compiled.get(row.criterion.criterion_id)):
            findings.append(_warning(file, row.at, row.criterion.criterion_id, key, text))
    if not file.rows and not file.broken:
        text, line = "is empty: nothing would be evaluated", file.source.line("criteria")
        findings.append(Finding("warning", None, line, "criteria", text, file.source.file))
    findings += _duplicates(file)
    findings += _strange_roles(file, rows)
    known = {*inventory, *file.tools}
    if known:
        findings += _strange_tools(file, rows, known)
    return sorted(findings, key=lambda finding: (finding.line, finding.level))


def _warnings(criterion: Criterion, compiled: CompiledRow | None) -> Iterator[tuple[str, str]]:
    if not criterion.statement.startswith(PASS_PREFIX):
        yield "statement", f"should start with '{PASS_PREFIX}' and say one binary thing"
    klass = criterion.klass or ("judge" if criterion.code_eval is None else "code")
    judged = klass != "code"
    if judged and not criterion.terms:
        text = "is missing: list the words that need a referent in the trace"
        yield "terms", text
    if judged and not criterion.judge_inputs:
        yield "judge_inputs", "is missing: name the least that this row needs to read"
    if klass == "code" and criterion.generality == "specific-semantic":
        yield "generality", "should be general-structural for class code"
    if criterion.defect_class in _DETERMINISM and not criterion.variance_mechanism:
        yield "variance_mechanism", "is missing: a determinism row names what varies, and how"
    if criterion.origin == "mined" and criterion.discovery is None:
        yield "discovery", "is missing: the row counts as inferred and does not gate"
    if compiled is not None and compiled.severity_derived:
        yield "severity", f"is derived from the observed failures: {compiled.severity}"


def _duplicates(file: SuiteFile) -> Iterator[Finding]:
    """Yield rows that ask what an earlier row asks: same code, or same statement."""
    first: dict[tuple[str, str], str] = {}
    for row in file.rows:
        criterion = row.criterion
        if criterion.status == "retired":
            continue
        for key, meaning in _meanings(criterion):
            taken = first.setdefault((key, meaning), criterion.criterion_id)
            if taken != criterion.criterion_id:
                yield _warning(file, row.at, criterion.criterion_id, key, f"repeats row {taken}")


def _meanings(criterion: Criterion) -> Iterator[tuple[str, str]]:
    route = criterion.route or ""
    yield "statement", f"{route}\n{' '.join(criterion.statement.casefold().split()).rstrip('.')}"
    if criterion.code_eval is not None and criterion.klass != "hybrid":
        yield "code_eval", f"{route}\n{canonical_text(criterion.code_eval.model_dump(mode='json'))}"


def _strange_tools(
    file: SuiteFile, rows: Iterable[CompiledRow], inventory: Collection[str]
) -> Iterator[Finding]:
    places = {row.criterion.criterion_id: row.at for row in file.rows}
    for row in rows:
        for name in sorted({*named_tools(row.params), *named_tools(row.judge_inputs)}):
            if name not in inventory:
                text = f"tool '{name}' is in no inventory{did_you_mean(name, inventory)}"
                yield _warning(file, places[row.id], row.id, "code_eval", text)


def _strange_roles(file: SuiteFile, rows: Iterable[CompiledRow]) -> Iterator[Finding]:
    places = {row.criterion.criterion_id: row.at for row in file.rows}
    for row in rows:
        for name in sorted({*named_roles(row.params)}):
            if name.casefold() not in ROLES:
                text = (
                    f"role '{name}' is none of {', '.join(ROLES)}: right only as a speaker's name"
                )
                yield _warning(file, places[row.id], row.id, "code_eval", text)


def named_roles(value: Any) -> Iterator[str]:
    """Yield every role that the selectors of parameters name."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from named_roles(item)
    elif isinstance(value, Selector):
        if value.message is not None and value.message != ANY:
            yield value.message
    elif isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from named_roles(getattr(value, field))


def named_tools(value: Any) -> Iterator[str]:
    """Yield every tool that parameters name: the fields for tools, and `obs:NAME` paths."""
    if isinstance(value, FieldPath):
        if value.observation not in (None, "*"):
            yield str(value.observation)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from named_tools(item)
    elif isinstance(value, BaseModel):
        for field in type(value).model_fields:
            held = getattr(value, field)
            if field in _TOOL_FIELDS:
                names = (held,) if isinstance(held, str) else held or ()
                yield from (name for name in names if not name.startswith(("*", "@")))
            else:
                yield from named_tools(held)


def _warning(file: SuiteFile, at: int, row: str, key: str, text: str) -> Finding:
    line = file.source.line("criteria", at, key)
    return Finding("warning", row, line, key, text, file.source.file)
