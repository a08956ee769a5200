"""`helix audit diff A B`: what two runs of one source have different after masking."""

from __future__ import annotations

import argparse
import datetime
from functools import partial
from pathlib import Path

from helix.app import console
from helix.app.plugins import registry
from helix.audit import diff_runs, dimensions, score
from helix.audit.history import reading, remember
from helix.errors import ExitCode, UsageError
from helix.reports.determinism import diff_json, diff_text
from helix.reports.textpage import for_this_console
from helix.runs import RunFiles


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to those of `helix audit`."""
    parser = commands.add_parser(
        "diff",
        help="compare two runs of one source, artifact by artifact and in every dimension",
        description="Compare the artifacts of two runs byte by byte after masking what says how a "
        "run was carried out (folders, limits, usage), and tell of each that differs in how many "
        "places, and the first: its line, its JSON path and both values. Then the determinism "
        "scorecard: what each dimension measures in both runs. It stands beside the gate and moves "
        "no exit code. docs/determinism.md lists what is masked and what is measured. Exits 0 if "
        "every artifact is equal; 1 if one differs or is in one run alone; 2 for usage, and for a "
        "file that cannot be read or masked.",
    )
    parser.add_argument("a", metavar="A", help="the folder of a run")
    parser.add_argument("b", metavar="B", help="the folder of the other run")
    parser.add_argument(
        "--keep",
        metavar="STATE",
        help="append the scorecard to the history in this state folder (.helix), whose trend the "
        "reports of later runs show",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the comparison; the exit code is that of the artifacts."""
    folders, names = (Path(args.a), Path(args.b)), (args.a, args.b)
    diff = diff_runs(*folders)
    found = score([RunFiles(folder) for folder in folders], dimensions(registry()))
    if args.keep:
        kept = reading(found, RunFiles(folders[0]), _now())
        if kept is None:
            raise UsageError(f"--keep must be with finished runs (got {args.a}, which is none)")
        remember(args.keep, kept)
    if args.json:
        console.say_json(diff_json(diff, found, names))
    else:
        console.say_bytes(for_this_console(partial(diff_text, diff, found, names)))
    return ExitCode.FAIL if diff.different else ExitCode.PASS


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
