"""`helix criteria lint SUITE`: what is wrong with a suite, before anything is spent."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence

from helix.app import console
from helix.app.quoting import texts
from helix.checks import load_modules
from helix.errors import ExitCode, UsageError
from helix.registry import load
from helix.reports.words import counted
from helix.suite import Finding
from helix.suite import lint as lint_suite

KEYS = ("checks.modules", "subject.tools")


def run(argv: Sequence[str]) -> ExitCode:
    """Print the findings; FAIL if one is an error, USAGE if the file cannot be read at all."""
    parser = argparse.ArgumentParser(prog="helix criteria", description="Work on a suite.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lint = commands.add_parser(
        "lint",
        help="check a suite",
        description="Check a suite: YAML, rows, paths, primitives and their parameters, and that "
        "every row has what its class needs. Exits 0 if nothing is wrong or there are warnings "
        "only, 1 if there are errors, 2 if the file cannot be read.",
    )
    lint.add_argument("suite", metavar="SUITE", help="the YAML file")
    lint.add_argument(
        "settings",
        metavar="KEY=VALUE",
        nargs="*",
        help="checks.modules=[checks.py], subject.tools=[a,b], as `helix evaluate` takes them",
    )
    lint.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)

    given = _settings(args.settings)
    registry = load()
    load_modules(given["checks.modules"], registry)
    findings = lint_suite(args.suite, registry, given["subject.tools"])
    errors = sum(finding.level == "error" for finding in findings)
    if args.json:
        plain = [dataclasses.asdict(finding) for finding in findings]
        console.say(json.dumps({"suite": args.suite, "findings": plain}, indent=2, default=str))
    else:
        console.say("\n".join([f"{f.level}: {f}" for f in findings] + [_sum(findings, errors)]))
    return ExitCode.FAIL if errors else ExitCode.PASS


def _settings(words: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {key: [] for key in KEYS}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in found or not equals:
            raise UsageError(f"lint takes {' and '.join(KEYS)} (got '{word}')")
        found[key] = texts(value)
    return found


def _sum(findings: Sequence[Finding], errors: int) -> str:
    return f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}"
