"""`helix report merge RUN… --out DIR`: shard runs become the run that they are shares of."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from helix.app import console
from helix.errors import ExitCode
from helix.merge import merge
from helix.model.lines import encode_page
from helix.reports.visible import visible
from helix.reports.words import counted


def run(argv: Sequence[str]) -> ExitCode:
    """Merge shards, and exit as the gate of the whole run says."""
    parser = argparse.ArgumentParser(
        prog="helix report merge",
        description="Merge the runs of all shards of one run (shard.index, shard.count) into the "
        "run that they are shares of: the same plan, manifest, verdicts and scorecard as without "
        "shards. Nothing is judged. A shard that is missing, waits or read other traces is an "
        "error that says what to type. Reports are made with `helix report DIR`. Exits as the "
        "gate: 0 pass, 1 fail, 3 incomplete; 2 for usage.",
    )
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="the folder of a shard's run")
    add("--out", metavar="DIR", required=True, help="a new folder for the whole run")
    add("--json", action="store_true", help="print the scorecard as JSON")
    args = parser.parse_args(argv)
    done = merge(args.runs, args.out)
    if args.json:
        console.say_bytes(encode_page(done.scorecard))
        return done.exit_code
    cells, traces = done.scorecard.cells, done.scorecard.traces
    console.say(
        visible(
            f"{done.scorecard.run_verdict}: {counted(done.shards, 'shard')}, "
            f"{counted(traces.sampled, 'trace')}, {counted(cells.total, 'cell')} "
            f"({cells.pass_} pass, {cells.fail} fail, {cells.uncertain} uncertain, {cells.na} na)"
        )
    )
    console.say(visible(f"{done.run_dir}; its reports: helix report {args.out}"))
    return done.exit_code
