"""`helix criteria lint`: all that compiling finds, and what makes a good suite besides.

Errors are what compiling refuses, the uniformity gate among it (METHOD 20). Warnings are rows
that can run and that their author probably did not mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from helix.checks.conditions import ANY, Selector
from helix.checks.parts import Part
from helix.checks.roles import ROLES
from helix.errors import did_you_mean
from helix.fieldpath import FieldPath
from helix.model.criterion import Criterion
from helix.registry import Registry
from helix.suite.compile import CompiledRow, Settings, examine
from helix.suite.load import SuiteFile, load
from helix.suite.meaning import asked, meaning, repeats
from helix.suite.problems import Finding
from helix.suite.terms import PASS_PREFIX

_DETERMINISM = ("missing-determinism",)
_ASKED = "code_eval"
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
    findings += _duplicates(file, compiled)
    findings += _strange_roles(file, rows)
    known = {*inventory, *file.tools}
    if known:
        findings += _strange_tools(file, rows, known)
    return sorted(findings, key=lambda finding: (finding.line, finding.level))


def _warnings(criterion: Criterion, compiled: CompiledRow | None) -> Iterator[tuple[str, str]]:
    if not criterion.statement.startswith(PASS_PREFIX):
        yield "statement", f"should start with '{PASS_PREFIX}' and say one binary thing"
    klass = criterion.implied_class
    judged = klass != "code"
    if judged and not criterion.terms:
        text = "is missing: list the words that need a referent in the trace"
        yield "terms", f"{text}; `helix criteria terms` proposes some"
    if any(not term.strip() for term in criterion.terms):
        yield "terms", "holds an empty one, which refers to nothing in any trace"
    if klass == "judge" and not criterion.judge_inputs:
        yield "judge_inputs", "is missing: name the least that this row needs to read"
    if klass == "code" and criterion.generality == "specific-semantic":
        yield "generality", "should be general-structural for class code"
    if _determinism(criterion) and not (criterion.variance_mechanism or "").strip():
        yield "variance_mechanism", "is missing: a determinism row names what varies, and how"
    if criterion.origin == "mined" and criterion.discovery is None:
        yield "discovery", "is missing: the row counts as inferred and does not gate"
    if compiled is not None and compiled.severity_derived:
        yield "severity", f"is derived from the observed failures: {compiled.severity}"


def _determinism(criterion: Criterion) -> bool:
    """Whether a row is about determinism, by its defect or the audit's words (METHOD 24)."""
    return (
        criterion.defect_class in _DETERMINISM
        or criterion.root_cause is not None
        or bool(criterion.controls)
    )


def _duplicates(file: SuiteFile, compiled: Mapping[str, CompiledRow]) -> Iterator[Finding]:
    """Yield rows that ask what an earlier row asks: same statement, or code that means the same."""
    first: dict[tuple[str, str], str] = {}
    rows = [row for row in file.rows if row.criterion.status != "retired"]
    for row in rows:
        name = row.criterion.criterion_id
        for key, meant in _meanings(row.criterion, compiled.get(name)):
            taken = first.setdefault((key, meant), name)
            if taken != name:
                yield _warning(file, row.at, name, key, f"repeats row {taken}")
    for row in rows:
        name = row.criterion.criterion_id
        part = _part(compiled.get(name))
        if part is None:
            continue
        if repeats(part):
            yield _warning(file, row.at, name, _ASKED, "holds one check twice")
        for meant in asked(part):
            other = first.get((_ASKED, _on_route(row.criterion, meant)), name)
            if other != name:
                yield _warning(file, row.at, name, _ASKED, f"asks again what row {other} asks")


def _meanings(criterion: Criterion, compiled: CompiledRow | None) -> Iterator[tuple[str, str]]:
    said = " ".join(criterion.statement.casefold().split()).rstrip(".")
    yield "statement", _on_route(criterion, said)
    part = _part(compiled)
    if part is not None:
        yield _ASKED, _on_route(criterion, meaning(part))


def _part(row: CompiledRow | None) -> Part | None:
    """Return what code alone asks in a row; a hybrid's judge may ask more than its code."""
    if row is None or row.check is None or row.params is None or row.klass == "hybrid":
        return None
    return Part(check=row.check, params=row.params)


def _on_route(criterion: Criterion, meant: str) -> str:
    return f"{criterion.route or ''}\n{meant}"


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
