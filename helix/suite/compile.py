"""From rows to what a run needs: parsed parameters, the method, whether a row gates.

Everything that can be wrong with a suite is found here, before anything runs, and told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from helix.checks import specs
from helix.checks.known_fields import selector
from helix.checks.parts import versions
from helix.errors import PathError
from helix.fieldpath import FieldPath
from helix.model.canonical import digest
from helix.model.criterion import (
    CHECK_METHOD,
    CLASS_OF,
    GATING_SEVERITIES,
    CheckClass,
    CheckMethod,
    CodeEval,
    Criterion,
    Severity,
    Suite,
)
from helix.registry import Check, Registry
from helix.suite.load import Row, SuiteFile, from_suite, row_id
from helix.suite.mined import flaws
from helix.suite.problems import Finding, Nesting, from_validation, raise_errors
from helix.suite.source import Source

Eligibility = Literal["default", "observed"]
DEFAULT_COMPONENT = "subject"


@dataclass(frozen=True, slots=True)
class SeverityRule:
    """How severity follows from the count of observed failures where a row gives none (METHOD 22).

    At least `high` failures: HIGH; at least `med`: MED; fewer: LOW. CRIT is never derived.
    """

    high: int = 3
    med: int = 1

    def of(self, failures: int) -> Severity:
        """Return the severity of so many observed failures."""
        return "HIGH" if failures >= self.high else "MED" if failures >= self.med else "LOW"


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides beside the file: component of rows without one, who may gate, severities."""

    default_component: str = DEFAULT_COMPONENT
    eligibility: Eligibility = "default"
    severity_rule: SeverityRule = SeverityRule()


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """One active criterion, ready to run; its class, method and severity are filled in.

    `check` and `params` are None for judge rows. `digest` covers the check's version as well,
    `criterion.digest` only what the row says.
    """

    criterion: Criterion
    klass: CheckClass
    method: CheckMethod
    severity: Severity
    severity_derived: bool
    component: str
    gating: bool
    check: Check | None
    params: BaseModel | None
    judge_inputs: tuple[FieldPath, ...]
    line: int
    digest: str

    @property
    def id(self) -> str:
        """The criterion's id."""
        return self.criterion.criterion_id


@dataclass(frozen=True, slots=True)
class CompiledSuite:
    """A suite that can run: active rows in file order, and the tombstones beside them."""

    suite: Suite
    rows: tuple[CompiledRow, ...]
    retired: tuple[Criterion, ...]
    digest: str

    def row(self, criterion_id: str) -> CompiledRow | None:
        """Return the active row of an id, or None."""
        return next((row for row in self.rows if row.id == criterion_id), None)


def compile(
    suite: SuiteFile | Suite,
    registry: Registry,
    *,
    default_component: str = DEFAULT_COMPONENT,
    eligibility: Eligibility = "default",
    severity_rule: SeverityRule | None = None,
) -> CompiledSuite:
    """Compile a suite; one SuiteError lists every problem of the file, rows and parameters alike.

    An unknown check method or class cannot pass (METHOD 20, 21). Gating follows METHOD 65.
    """
    file = suite if isinstance(suite, SuiteFile) else from_suite(suite)
    settings = Settings(default_component, eligibility, severity_rule or SeverityRule())
    rows, findings = examine(file, registry, settings)
    raise_errors(findings)
    retired = tuple(r.criterion for r in file.rows if r.criterion.status == "retired")
    parts = [[row.id, row.digest] for row in rows] + [[r.criterion_id] for r in retired]
    tools = sorted(file.tools)
    whole = digest({"suite": file.name, "version": file.version, "tools": tools, "rows": parts})
    return CompiledSuite(file.suite, rows, retired, whole)


def examine(
    file: SuiteFile, registry: Registry, settings: Settings
) -> tuple[tuple[CompiledRow, ...], list[Finding]]:
    """Return the active rows that compile, in file order, and every problem of the file."""
    findings = [*file.problems]
    rows = []
    for row in file.rows:
        if row.criterion.status == "active":
            compiled = RowCompiler(file, row, registry, findings).compile(settings)
            rows.append(compiled)
    for at, raw in file.broken:
        findings += _broken_row(file.source, registry, at, raw)
    return tuple(row for row in rows if row is not None), findings


def gates(criterion: Criterion, severity: Severity, eligibility: Eligibility) -> bool:
    """Whether a row may decide the gate (METHOD 65).

    CRIT or HIGH, active, and written by the operator, observed, or ratified; under `observed`
    the operator's word alone is not enough.
    """
    if severity not in GATING_SEVERITIES or criterion.status != "active":
        return False
    observed = criterion.discovery is not None and criterion.discovery.grounding == "observed"
    grounded = observed or criterion.ratified is not None
    return grounded or (eligibility == "default" and criterion.origin == "operator")


def gating_reason(criterion: Criterion, severity: Severity) -> str:
    """Return why a row may decide the gate, or why not, in a few words (METHOD 65)."""
    if criterion.status != "active":
        return "retired"
    if severity not in GATING_SEVERITIES:
        return f"severity {severity}"
    if criterion.ratified is not None:
        return f"ratified by {criterion.ratified.by}"
    if criterion.discovery is not None and criterion.discovery.grounding == "observed":
        return "observed"
    written = criterion.origin == "operator"
    return "written by the operator" if written else "mined, neither observed nor ratified"


class RowCompiler:
    """Compiles one row, and notes every problem it meets."""

    def __init__(
        self, file: SuiteFile, row: Row, registry: Registry, findings: list[Finding]
    ) -> None:
        self._file, self._row, self._registry, self._findings = file, row, registry, findings
        self._criterion = row.criterion

    def compile(self, settings: Settings) -> CompiledRow | None:
        """Return the compiled row, or None where a problem was noted."""
        before = len(self._findings)
        criterion = self._criterion
        klass = self._class()
        check, params = self._check()
        inputs = self._judge_inputs()
        severity = self._severity(settings.severity_rule)
        self._discovery()
        if len(self._findings) > before or klass is None or severity is None:
            return None
        method = CHECK_METHOD[klass]
        inner = versions(params)
        filled = {"klass": klass, "check_method": method, "severity": severity}
        return CompiledRow(
            criterion=criterion.model_copy(update=filled),
            klass=klass,
            method=method,
            severity=severity,
            severity_derived=criterion.severity is None,
            component=criterion.component or settings.default_component,
            gating=gates(criterion, severity, settings.eligibility),
            check=check,
            params=params,
            judge_inputs=inputs,
            line=self._row.line,
            digest=digest([criterion.digest, check and [check.name, check.version], *inner]),
        )

    def _class(self) -> CheckClass | None:
        """Return the class, given or inferred where only one fits (METHOD 17, 20)."""
        criterion = self._criterion
        given = criterion.klass
        method = criterion.check_method
        if method is not None:
            implied = CLASS_OF[method]
            if given is not None and implied != given:
                text = f"must be {CHECK_METHOD[given]} for class {given} (got {method})"
                self._note("check_method", text)
            given = given or implied
        code, inputs = criterion.code_eval is not None, bool(criterion.judge_inputs)
        if given is None:
            if code and inputs:
                self._note(
                    "class",
                    "must be given: with code_eval and judge_inputs the row may be code or hybrid",
                )
                return None
            return "code" if code else "judge"
        if given == "judge" and code:
            self._note(
                "code_eval", "class judge takes no code_eval; remove it, or write class: hybrid"
            )
        if given != "judge" and not code:
            self._note("code_eval", f"is missing: class {given} needs one, or write class: judge")
        if given == "hybrid" and not inputs:
            self._note("judge_inputs", "is missing: class hybrid needs what the judge reads")
        return given

    def _check(self) -> tuple[Check | None, BaseModel | None]:
        spec = self._criterion.code_eval
        if spec is None:
            return None, None
        place = (self._row.at, self._criterion.criterion_id)
        check, params, found = _parameters(self._file.source, self._registry, spec, *place)
        self._findings += found
        return check, params

    def _judge_inputs(self) -> tuple[FieldPath, ...]:
        place = (self._row.at, self._criterion.criterion_id)
        paths, found = _paths(self._file.source, self._criterion.judge_inputs, *place)
        self._findings += found
        return paths

    def _severity(self, rule: SeverityRule) -> Severity | None:
        criterion = self._criterion
        if criterion.severity is not None:
            return criterion.severity
        seen = criterion.discovery.prevalence if criterion.discovery else None
        if seen is None and criterion.origin == "operator":
            self._note("severity", "is missing: write CRIT, HIGH, MED or LOW (only a row with "
                       "discovery.prevalence can have it derived)")  # fmt: skip
            return None
        return rule.of(seen.k if seen is not None else 0)

    def _discovery(self) -> None:
        for key, text in flaws(self._criterion):
            self._note(key, text)

    def _note(self, key: str, text: str) -> None:
        source = self._file.source
        line = source.line("criteria", self._row.at, *key.split("."))
        name = self._criterion.criterion_id
        self._findings.append(Finding("error", name, line, key, text, source.file))


def _parameters(
    source: Source, registry: Registry, spec: CodeEval, at: int, row: str
) -> tuple[Check | None, BaseModel | None, list[Finding]]:
    """Return the check that a row names and its parsed parameters, or what is wrong with them."""
    written = {"primitive": spec.primitive, **spec.parameters}

    def find(name: str) -> Check:
        found: Check = registry.get("checks", name)
        return found

    try:
        part = specs.read(written, find)
    except ValidationError as error:
        above = ("criteria", at, "code_eval")
        keys = Nesting(written, registry.items("checks"))
        return None, None, [*from_validation(error, keys, source, above, row)]
    return part.check, part.params, []


def _paths(
    source: Source, texts: Sequence[str], at: int, row: str
) -> tuple[tuple[FieldPath, ...], list[Finding]]:
    """Return the parsed judge_inputs, or what is wrong with them."""
    paths: list[FieldPath] = []
    found: list[Finding] = []
    for index, text in enumerate(texts):
        try:
            paths.append(selector(text))
        except PathError as error:
            line = source.line("criteria", at, "judge_inputs", index)
            key = f"judge_inputs[{index}]"
            found.append(Finding("error", row, line, key, str(error), source.file))
    return tuple(paths), found


def _broken_row(source: Source, registry: Registry, at: int, raw: Any) -> Iterator[Finding]:
    """Yield what else is wrong with a row whose shape is: its primitive, parameters and paths."""
    if not isinstance(raw, dict):
        return
    row = row_id(raw, at)
    spec = raw.get("code_eval", raw.get("codeEval"))
    if isinstance(spec, dict) and isinstance(spec.get("primitive"), str):
        yield from _parameters(source, registry, CodeEval.model_validate(spec), at, row)[2]
    inputs = raw.get("judge_inputs", raw.get("judgeInputs"))
    if isinstance(inputs, list):
        yield from _paths(source, [text for text in inputs if isinstance(text, str)], at, row)[1]
