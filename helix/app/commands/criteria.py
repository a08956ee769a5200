"""`helix criteria`: work on a suite, before anything is spent."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence

from helix.app import console, suite_rows
from helix.app.arguments import Subcommands, positive, with_settings
from helix.app.quoting import texts
from helix.checks import load_modules
from helix.errors import ExitCode, UsageError
from helix.registry import load
from helix.reports.words import counted
from helix.suite import Finding
from helix.suite import lint as lint_suite

PER_TRACE = 3
KEYS = ("checks.modules", "subject.tools")
ROUTED = (*KEYS, "subject.routes", "subject.route_field")
_SETTINGS = "KEY=VALUE"


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of them; each says how it exits."""
    parser = argparse.ArgumentParser(
        prog="helix criteria", description="Work on a suite.", formatter_class=Subcommands
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_lint(commands)
    _add_explain(commands)
    _add_test(commands)
    _add_terms(commands)
    suite_rows.add(commands)
    args = with_settings(parser, argv)
    handler: Callable[[argparse.Namespace], ExitCode] = args.handler
    return handler(args)


def _add_lint(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lint = commands.add_parser(
        "lint",
        help="check a suite, or the grounding of a run's verdicts",
        description="Check suites: YAML, rows, paths, primitives and their parameters, and that "
        "every row has what its class needs. With --run check the verdicts of a finished run "
        "instead: what each tier must fill in is filled in, every citation resolves, absences name "
        "where was looked; a SUITE beside it says which terms must be bound. Exits 0 if nothing is "
        "wrong or there are warnings only, 1 if there are errors, 2 if a file cannot be read.",
    )
    lint.add_argument("suite", metavar="SUITE", nargs="?", help="the YAML file, or several")
    lint.add_argument("--run", metavar="RUN", help="the folder of a run, or its verdicts.jsonl")
    lint.add_argument("--traces", metavar="PATH", help="what the run judged (what its plan names)")
    lint.add_argument("--format", default="auto", help="read the traces as this format (auto)")
    _add_shared(lint, KEYS)
    lint.set_defaults(handler=_lint)


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser(
        "explain",
        help="say how the verdict of a code row came about",
        description="Say step by step how the verdict of a row on a trace comes about: the "
        "parameters as read, what they lead to, what was decided and why, and each ref with the "
        "text that stands there. Exits 0, or 2 where there is no such row or trace.",
    )
    explain.add_argument("id", metavar="ID", help="the row's criterion_id")
    explain.add_argument("--trace", metavar="TRACE", required=True, help="the trace's id")
    _add_traces(explain)
    explain.add_argument("--suite", metavar="SUITE", required=True, help="the YAML file")
    _add_shared(explain, ROUTED)
    explain.set_defaults(handler=_explain)


def _add_test(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    test = commands.add_parser(
        "test",
        help="say which known faults the code rows of a suite see",
        description="Put known faults into the traces on which a row passes, and say which of them "
        "the row sees (kills), silent faults apart, and on which untouched traces it fails. The "
        "same traces, suite and seed give the same bytes. Exits 0; 1 if a row of class code sees "
        "no fault at all; 3 if there was nothing to test; 2 for usage.",
    )
    test.add_argument("suite", metavar="SUITE", help="the YAML file")
    _add_traces(test)
    test.add_argument("--seed", type=int, default=0, help="draws the places of faults (0)")
    text = f"most mutants per fault and trace ({PER_TRACE})"
    test.add_argument("--per-trace", type=positive, default=PER_TRACE, metavar="N", help=text)
    _add_shared(test, ROUTED)
    test.set_defaults(handler=_test)


def _add_terms(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    terms = commands.add_parser(
        "terms",
        help="propose terms for judged rows that name none",
        description="Propose terms for the judged rows of a suite that name none, by rule and "
        "without a model: values in quotes, tools, field paths, ids and noun phrases of the "
        "statement. With --traces also in how many traces code finds a referent. A row that has "
        "terms is never touched. Exits 0, or 2 where the file cannot be read or written to.",
    )
    terms.add_argument("suite", metavar="SUITE", help="the YAML file")
    terms.add_argument("--traces", metavar="PATH", help="file, folder, glob or demo:outreach")
    terms.add_argument("--format", default="auto", help="read as this format (auto)")
    text = "store the terms in the rows, every other character left alone"
    terms.add_argument("--write", action="store_true", help=text)
    _add_shared(terms, ("subject.tools",))
    terms.set_defaults(handler=_terms)


def _add_traces(command: argparse.ArgumentParser) -> None:
    text = "file, folder, glob, - or demo:outreach; all of it tells which tools there are"
    command.add_argument("--traces", metavar="PATH", required=True, help=text)
    command.add_argument("--format", default="auto", help="read as this format (auto)")


def _add_shared(command: argparse.ArgumentParser, keys: Sequence[str]) -> None:
    text = f"{', '.join(keys)}, as `helix evaluate` takes them"
    command.add_argument("settings", metavar=_SETTINGS, nargs="*", help=text)
    command.add_argument("--json", action="store_true", help="print JSON")


def _lint(args: argparse.Namespace) -> ExitCode:
    further = [w for w in args.settings if "=" not in w and w.endswith((".yaml", ".yml"))]
    given = _settings("lint", [w for w in args.settings if w not in further], KEYS)
    if args.run is not None and not further:
        return _lint_run(args)
    if args.run is not None:
        raise UsageError(f"lint --run takes one SUITE (got {1 + len(further)})")
    if args.suite is None:
        raise UsageError("lint must be given a SUITE or --run RUN (got neither)")
    registry = load()
    load_modules(given["checks.modules"], registry)
    found = {
        suite: lint_suite(suite, registry, given["subject.tools"])
        for suite in [args.suite, *further]
    }
    findings = [finding for one in found.values() for finding in one]
    errors = sum(finding.level == "error" for finding in findings)
    if args.json:
        plain = [
            {"suite": suite, "findings": [dataclasses.asdict(finding) for finding in one]}
            for suite, one in found.items()
        ]
        told = {"suites": plain} if further else plain[0]
        console.say_json(told, default=str)
    else:
        console.say("\n".join([f"{f.level}: {f}" for f in findings] + [_sum(findings, errors)]))
    return ExitCode.FAIL if errors else ExitCode.PASS


def _lint_run(args: argparse.Namespace) -> ExitCode:
    from helix.app import grounded
    from helix.suite import load as load_suite

    rows = () if args.suite is None else load_suite(args.suite).criteria
    terms = {row.criterion_id: row.terms for row in rows}
    found = grounded.linted(args.run, args.traces, args.format, terms)
    if args.json:
        console.say_json(grounded.as_json(args.run, found))
    else:
        console.say(grounded.as_text(found))
    return ExitCode.FAIL if any(d.level == "error" for d in found.defects) else ExitCode.PASS


def _explain(args: argparse.Namespace) -> ExitCode:
    from helix.app import explained
    from helix.app.tried import Tried

    tried = Tried.open(args, _settings("explain", args.settings, ROUTED))
    told = tried.explanation(args.id, args.trace)
    tried.tell_unread()
    if args.json:
        console.say_json(explained.as_json(told), default=str)
    else:
        console.say(explained.as_text(told))
    return ExitCode.PASS


def _test(args: argparse.Namespace) -> ExitCode:
    from helix.app import mutants
    from helix.app.tried import Tried

    tried = Tried.open(args, _settings("test", args.settings, ROUTED))
    score = tried.mutation(args.seed, args.per_trace)
    tried.tell_unread()
    if args.json:
        console.say_json(mutants.as_json(score))
    else:
        console.say(mutants.as_text(score))
    if not any(fault.made for fault in score.faults):
        return ExitCode.INCOMPLETE
    return ExitCode.FAIL if score.blind else ExitCode.PASS


def _terms(args: argparse.Namespace) -> ExitCode:
    from helix.app import proposed

    tools = _settings("terms", args.settings, ("subject.tools",))["subject.tools"]
    file, found = proposed.proposed(args.suite, args.traces, args.format, tools)
    written = proposed.store(file, found) if args.write else None
    if args.json:
        console.say_json(proposed.as_json(args.suite, found, written))
    else:
        console.say(proposed.as_text(found, written))
    return ExitCode.PASS


def _settings(command: str, words: Sequence[str], keys: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {key: [] for key in keys}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in found or not equals:
            listed = " and ".join(filter(None, (", ".join(keys[:-1]), keys[-1])))
            raise UsageError(f"{command} takes {listed} (got '{word}')")
        found[key] = texts(value)
    return found


def _sum(findings: Sequence[Finding], errors: int) -> str:
    return f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}"
