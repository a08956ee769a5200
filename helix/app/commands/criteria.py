"""`helix criteria lint SUITE`: what is wrong with a suite, before anything is spent."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from helix.app import console
from helix.app.plugins import registry
from helix.errors import ExitCode


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
    lint.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)

    from helix.suite import lint as linted

    findings = list(linted(args.suite, registry()))
    errors = sum(finding.level == "error" for finding in findings)
    if args.json:
        plain = [dataclasses.asdict(finding) for finding in findings]
        console.say(json.dumps({"suite": args.suite, "findings": plain}, indent=2, default=str))
    else:
        console.say("\n".join([_line(args.suite, f) for f in findings] + [_sum(findings, errors)]))
    return ExitCode.FAIL if errors else ExitCode.PASS


def _line(suite: str, finding: Any) -> str:
    where = f"{suite}:{finding.line}" if finding.line else suite
    what = " ".join(str(part) for part in (finding.row, finding.key) if part not in (None, ""))
    return f"{where}: {finding.level}: {what + ': ' if what else ''}{finding.text}"


def _sum(findings: Sequence[Any], errors: int) -> str:
    return f"{errors} errors, {len(findings) - errors} warnings"
