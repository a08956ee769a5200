"""`helix cache`: what the reply cache holds, and its replies as recordings."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from helix.app import console
from helix.errors import ExitCode, UsageError


def run(argv: Sequence[str]) -> ExitCode:
    """Print how many replies are kept and how much space they take, or export them."""
    parser = argparse.ArgumentParser(
        prog="helix cache",
        description="Say how many judge replies are kept, and in how many bytes; with export, "
        "write them as recordings, which judge=replay reads from the folder judge.dir. To ask a "
        "judge again, move the cache away, or run with cache.refresh=unusable. Exits 0, 2 where "
        "nothing can be exported, or 4 if the cache cannot be read.",
    )
    parser.add_argument("action", nargs="?", choices=["export"], help="write a recording file")
    parser.add_argument("--state", default=".helix", help="paths.state of the runs (.helix)")
    parser.add_argument("--out", metavar="FILE", help="recording file to write, FILE.jsonl")
    parser.add_argument("--run", metavar="RUN", help="run directory: export its replies alone")
    parser.add_argument(
        "--dispatch", metavar="FOLDER", help="export the answers of a judge.dir instead"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if args.action == "export":
        return _export(args)
    if args.out or args.run or args.dispatch:
        raise UsageError("--out, --run and --dispatch belong to: helix cache export")
    return _stats(args)


def _stats(args: argparse.Namespace) -> ExitCode:
    from helix.engine.cache import FOLDER, CacheStats, open_cache

    folder, stats = Path(args.state) / FOLDER, CacheStats(replies=0, bytes=0)
    if folder.is_dir():
        with open_cache(args.state) as cache:
            stats = cache.stats()
    if args.json:
        console.say(json.dumps({"folder": str(folder), **dataclasses.asdict(stats)}, indent=2))
    else:
        console.say(f"{stats.replies} replies, {stats.bytes} bytes in {folder}")
    return ExitCode.PASS


def _export(args: argparse.Namespace) -> ExitCode:
    from helix.app.recordings import export
    from helix.reports.words import counted

    if not args.out:
        raise UsageError("helix cache export needs the file to write: add --out FILE.jsonl")
    done = export(args.state, args.out, args.run, args.dispatch)
    if args.json:
        told = {"file": str(done.file), "recordings": done.recordings, "leftOut": done.left_out}
        console.say(json.dumps(told, indent=2))
        return ExitCode.PASS
    console.say(f"{counted(done.recordings, 'recording')} in {done.file}")
    if done.left_out:
        left = counted(done.left_out, "reply", "replies")
        why = "cannot be used" if args.dispatch else "kept by an earlier version"
        console.tell(f"{left} left out: {why}, or without what was asked")
    return ExitCode.PASS
