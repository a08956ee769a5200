"""`helix audit variance RUN…`: how often answers flip, and whose doing that is."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from helix.app import console, variances
from helix.audit.variance import variance_of
from helix.errors import ExitCode
from helix.model.lines import encode_page
from helix.model.variance import VarianceReport
from helix.reports.visible import one_line
from helix.runs import RunFiles
from helix.steadiness import keep, measured


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to those of `helix audit`."""
    parser = commands.add_parser(
        "variance",
        help="say how often repeats flip, and whether the agent, the judge or the verifier does",
        description="Read the verdict lines of one run, or of several that repeat each other (the "
        "jobs of a sweep over sampling.replicate_offset), and say of each criterion how often two "
        "answers on one trace differ, how far they agree beyond chance, what of it comes from the "
        "agent, the judge and the verifier, which cells flip, and how many repeats a precision "
        "takes. Every interval is at 95 % and clustered by task. A replicate index counts once "
        "for a trace, however many runs read it back. docs/variance.md explains the figures. With "
        "--keep, rows on which every trace was answered five times and never otherwise are kept "
        "as stable, and gate under a judge that refuses temperature 0. "
        "Exits 0 where something was answered twice; 3 where nothing was answered twice; 2 for "
        "usage, and for runs that do not ask the same.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the folder of a finished run")
    parser.add_argument("--keep", action="store_true", help="keep which rows are stable")
    parser.add_argument("--state", metavar="DIR", help="where to, else where the first run kept")
    parser.add_argument("--json", action="store_true", help="print JSON, every cell included")
    parser.add_argument(
        "--precision",
        metavar="P",
        type=_precision,
        default=0.05,
        help="what a flip rate should be known to, plus or minus: 0.01 to 0.5 (0.05)",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Print what the repeats come to."""
    runs = [RunFiles.open(folder) for folder in args.runs]
    found = variance_of(runs, args.precision)
    if args.json:
        console.say(encode_page(found).decode("utf-8"))
    else:
        console.say(variances.as_text(found))
    if args.keep:
        for line in _kept(runs, found, args.state):
            console.tell(line)
    return ExitCode.INCOMPLETE if variances.undrawn(found) else ExitCode.PASS


def _kept(runs: Sequence[RunFiles], found: VarianceReport, state: str | None) -> Iterator[str]:
    """Keep what was measured, and yield a line for each row."""
    asked: dict[str, Any] = {}
    for run in reversed(runs):
        asked |= run.plan().decides["versions"]
    plan, now = runs[0].plan(), datetime.datetime.now(datetime.UTC)
    folder = state or plan.runs["paths"]["state"]
    decides, at = {**plan.decides, "versions": asked}, now.isoformat(timespec="seconds")
    for one in measured(plan.decides["suite"]["name"], found.criteria, decides, at):
        path = keep(folder, one)
        told = "stable" if one.stable else f"not stable: {one.reason}"
        yield f"{one_line(one.criterion_id)}: {told}; kept in {path}"


def _precision(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 0.5:
        raise argparse.ArgumentTypeError(f"must be a number within 0.01 to 0.5 (got '{text}')")
    return value
