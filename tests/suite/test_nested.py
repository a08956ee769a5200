"""Checks inside checks, and where rows apply, as a suite writes them: errors, digests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import helix.demo
import helix.registry
from helix.checks import decide, specs
from helix.errors import SuiteError
from helix.grounding import dead, resolve_refs
from helix.ingest import from_dict
from helix.model.trace import Source
from helix.registry import Check, Registry
from helix.suite import CompiledSuite, compile, load
from helix.suite.batch import Batch
from helix.suite.load import from_source
from helix.suite.source import parse

HEAD = """\
suite: s
criteria:
  - criterion_id: A
    statement: Pass = x.
    severity: LOW
    code_eval:
"""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def compiled(registry: Registry, text: str) -> CompiledSuite:
    body = "".join(f"      {line}\n" for line in text.strip("\n").splitlines())
    return compile(from_source(parse(HEAD + body, "s.yaml")), registry)


def refused(registry: Registry, text: str) -> str:
    with pytest.raises(SuiteError) as caught:
        compiled(registry, text)
    return str(caught.value)


NESTED = """
primitive: all
of:
  - primitive: presence
    field: output.response
  - primitive: any
    of:
      - {primitive: presence, feild: output.response}
      - {primitive: presense, field: output.response}
"""


def test_an_error_inside_names_row_line_and_key(registry: Registry) -> None:
    text = refused(registry, NESTED)
    assert "s.yaml:13: A: code_eval.of[1].of[0].feild: unknown key 'feild'; did you mean 'field'?" \
        in text  # fmt: skip
    assert "code_eval.of[1].of[0].field: is missing" in text
    assert "s.yaml:14: A: code_eval.of[1].of[1].primitive: unknown check 'presense'" in text
    assert text.startswith("3 problems in the suite:")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{primitive: not, of: 7}", "code_eval.of: must be a check, a mapping with primitive"),
        ("{primitive: not, of: {field: output}}", "code_eval.of.primitive: must name a check"),
        ("{primitive: all, of: []}", "code_eval.of: must list at least one check"),
        ("{primitive: all, of: {primitive: presence}}", "code_eval.of: must be a list"),
        ("{primitive: at-least, k: 2, of: [{primitive: presence, field: output}]}",
         "code_eval: k must be at most 1, the number of checks in of (got 2)"),
        ("{primitive: at-least, k: 0, of: [{primitive: presence, field: output}]}", "code_eval.k:"),
        ("{primitive: implies, then: {primitive: presence, field: output}}",
         "code_eval.if: is missing"),
        ("{primitive: implies, if: {primitive: presence, field: outptu}, "
         "then: {primitive: presence, field: output}}", "code_eval.if.field: path 'outptu'"),
        ("{primitive: presence, field: output, whne: {}}", "did you mean 'when'?"),
        ("{primitive: presence, field: output, when: {primitive: presence, fild: output}}",
         "code_eval.when.fild: unknown key 'fild'; did you mean 'field'?"),
        ("{primitive: presence, field: output, after: {tool: a, message: user}}",
         "code_eval.after: needs either tool or message"),
        ("{primitive: presence, field: output, after: {tol: a}}",
         "code_eval.after.tol: unknown key 'tol'; did you mean 'tool'?"),
        ("{primitive: presence, field: output, before: {tool: a}, until: {tool: b}}",
         "takes before or until, not both"),
        ("{primitive: presence, field: output, after: {tool: a, if_none: pass}}",
         "code_eval.after.if_none: must be 'na' or 'whole'"),
        ("{primitive: not, of: {primitive: presence, field: output, until: {message: usr}}}",
         "code_eval.of.until.message: must be a role"),
    ],
)  # fmt: skip
def test_each_fault_is_told_where_it_stands(registry: Registry, text: str, told: str) -> None:
    assert told in refused(registry, text)


def test_camel_case_is_read_inside_too(registry: Registry) -> None:
    (row,) = compiled(
        registry,
        "{primitive: not, of: {primitive: presence, field: output.x, onMissing: na}, "
        "after: {tool: a, ifNone: whole}}",
    ).rows
    assert row.check is not None and row.check.name == "not"


def test_an_anchor_that_holds_itself_is_refused(registry: Registry) -> None:
    assert "refers to itself" in refused(registry, "&a\nprimitive: not\nof: *a")


def test_checks_that_repeat_themselves_by_anchors_are_bounded(registry: Registry) -> None:
    lines = ["primitive: all", "of:", "  - &a0 {primitive: presence, field: output}"]
    for n in range(1, 7):
        lines.append(f"  - &a{n} {{primitive: any, of: [{', '.join([f'*a{n - 1}'] * 9)}]}}")
    assert "must not hold more than 200 checks" in refused(registry, "\n".join(lines))


def test_an_old_parameter_named_like_a_window_is_refused(registry: Registry) -> None:
    from helix.checks import Params

    class Late(Params):
        """Late."""

        after: str = ""

    own = helix.registry.load(entry_points=())
    never: Any = None
    own.add("checks", Check("late", "1", Late, never), "test")
    assert "check late has a parameter after" in refused(own, "{primitive: late}")


def test_the_version_of_a_check_inside_is_part_of_the_digest() -> None:
    from helix.checks import Params

    class Nothing(Params):
        """None."""

    never: Any = None
    digests = set()
    for version in ("1", "2"):
        own = helix.registry.load(entry_points=())
        own.add("checks", Check("mine", version, Nothing, never), "test")
        for text in ("{primitive: not, of: {primitive: mine}}",
                     "{primitive: presence, field: output, when: {primitive: mine}}"):  # fmt: skip
            digests.add(compiled(own, text).digest)
    assert len(digests) == 4


def test_evidence_from_every_window_and_composite_stands_in_the_whole_trace(
    project: Path, registry: Registry
) -> None:
    suite = compile(load(project / "helix" / "demo" / "outreach.suite.yaml"), registry)
    codes = [row.criterion.code_eval for row in suite.rows if row.criterion.code_eval]
    bounds: list[dict[str, Any]] = [
        {"after": {"message": "user"}},
        {"before": {"tool": "sendMessage"}},
        {"after": {"tool": "*"}, "until": {"message": "assistant", "pick": "last"}},
    ]
    traces = [from_dict(r, Source("demo", 0, "helix", r["id"])) for r in helix.demo.generate()]
    batch = Batch()
    traces = list(batch.watch(traces))
    seen = set()
    for bound in bounds:
        parts = [{"primitive": c.primitive, **c.parameters} for c in codes]
        rows = [{"primitive": "not", "of": {**part, **bound}} for part in parts]
        rows.append({"primitive": "any", "of": parts, **bound})
        for row in rows:
            part = specs.read(row, lambda name: registry.get("checks", name))
            for about in traces:
                decision = decide(part, about, batch.context)
                assert decision.cause != "check-error", decision.detail
                assert dead(resolve_refs(about, decision.refs)) == [], (row, about.id)
                seen.add(decision.state)
    assert seen == {"pass", "fail", "uncertain", "na"}
