"""`helix cache`: what the reply cache holds."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from helix.app import console
from helix.errors import ExitCode


def run(argv: Sequence[str]) -> ExitCode:
    """Print how many replies are kept and how much space they take."""
    parser = argparse.ArgumentParser(
        prog="helix cache",
        description="Say how many judge replies are kept, and in how many bytes. To ask a judge "
        "again, move the folder away, or run with cache.refresh=unusable. Exits 0, or 4 if the "
        "cache cannot be read.",
    )
    parser.add_argument("--state", default=".helix", help="paths.state of the runs (.helix)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)

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
