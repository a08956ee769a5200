"""`helix audit variance RUN…`: how often answers flip, and whose doing that is."""

from __future__ import annotations

import argparse

from helix.app import console, variances
from helix.audit.variance import variance_of
from helix.errors import ExitCode
from helix.model.lines import encode_page
from helix.runs import RunFiles


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
        "for a trace, however many runs read it back. docs/variance.md explains the figures. "
        "Exits 0 where something was answered twice; 3 where nothing was; 2 for usage, and for "
        "runs that do not ask the same.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the folder of a finished run")
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
    found = variance_of([RunFiles.open(folder) for folder in args.runs], args.precision)
    if args.json:
        console.say(encode_page(found).decode("utf-8"))
    else:
        console.say(variances.as_text(found))
    return ExitCode.INCOMPLETE if variances.undrawn(found) else ExitCode.PASS


def _precision(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 0.5:
        raise argparse.ArgumentTypeError(f"must be a number within 0.01 to 0.5 (got '{text}')")
    return value
