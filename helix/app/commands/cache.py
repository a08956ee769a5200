"""`helix cache`: what the reply cache holds; checked, moved, merged, and pruned by rule."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helix.app import console
from helix.app.arguments import positive
from helix.errors import CacheError, ExitCode, UsageError

if TYPE_CHECKING:
    from helix.engine.upkeep import Cache, Merged, Of

DAY_S = 86_400
SHOWN = 20
DIGITS = 16
ACTIONS = ("stats", "verify", "export", "import", "merge", "prune")
ABOUT = """\
Say how many judge replies are kept (stats, also without a word), and look
after them:

  verify               read every reply back; names each that is damaged
  export --out FILE    write replies as recordings, which judge=replay reads
  import FILE …        keep exported recordings again, under the keys they had
  merge STATE …        copy what is missing from other state folders
  prune RULE …         remove what every given rule names, with --yes

They are those of --state, or of a shared cache:

  helix cache stats --name redis --option address=redis://HOST:6379

The first reply under a key stands. Where another says something else, import
and merge count it and show both digests. Nothing is ever removed by itself."""
ENDS = """\
To ask a judge again, move the cache away, or run with cache.refresh=unusable.
Exits 0; 2 for what cannot be done as typed; 4 where the cache cannot be read
or written, or verify finds damage."""
BELONG = {
    "out": ("export",),
    "run": ("export",),
    "dispatch": ("export",),
    "older_than": ("prune",),
    "model": ("prune",),
    "unused_by": ("prune",),
    "yes": ("prune",),
}


def run(argv: Sequence[str]) -> ExitCode:
    """Carry out one action on the reply cache of a state folder."""
    parser = _parser()
    args = parser.parse_args(argv)
    action = args.action or "stats"
    if args.option and not args.name:
        raise UsageError(f"--option is of a shared cache: add --name NAME (got {args.option[0]})")
    for name, owners in BELONG.items():
        if getattr(args, name) and action not in owners:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} belongs to: helix cache {owners[0]} (got {action})")
    if bool(args.paths) != (action in ("import", "merge")):
        what = "FILE" if action == "import" else "STATE"
        if args.paths:
            raise UsageError(f"helix cache {action} takes no further word (got {args.paths[0]})")
        raise UsageError(
            f"helix cache {action} must name what to read: helix cache {action} {what}"
        )
    return {
        "stats": _stats,
        "verify": _verify,
        "export": _export,
        "import": _import,
        "merge": _merge,
        "prune": _prune,
    }[action](args, _cache(args))


def _cache(args: argparse.Namespace) -> Cache:
    """Return the cache that is looked after."""
    from helix.engine.store import DISK
    from helix.engine.upkeep import OnDisk, Shared
    from helix.model.config import CacheConfig
    from helix.registry import CacheSettings, load

    if (args.name or DISK) == DISK and not args.option:
        return OnDisk(args.state)
    config = CacheConfig(name=args.name, options=dict(map(_option, args.option)))
    return Shared(CacheSettings(config, args.state), load())


def _option(word: str) -> tuple[str, Any]:
    """Return the key and value of an option; a value that is JSON is what it says."""
    key, equals, text = word.partition("=")
    if not (key and equals):
        raise UsageError(f"--option must be KEY=VALUE (got {word})")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="helix cache",
        description=ABOUT,
        epilog=ENDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=ACTIONS, metavar="ACTION", help="as above")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="what import and merge read")
    parser.add_argument("--state", default=".helix", help="paths.state of the runs (.helix)")
    parser.add_argument("--name", metavar="NAME", help="cache.name of the runs, a plugin's")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="cache.options of it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    export = parser.add_argument_group("export")
    export.add_argument("--out", metavar="FILE", help="recording file to write, FILE.jsonl")
    export.add_argument("--run", metavar="RUN", help="run directory: its replies alone")
    export.add_argument("--dispatch", metavar="FOLDER", help="the answers of a judge.dir instead")
    prune = parser.add_argument_group("prune")
    prune.add_argument("--older-than", type=positive, metavar="DAYS", help="kept before that")
    prune.add_argument("--model", metavar="MODEL", help="asked of this model, as it was pinned")
    prune.add_argument(
        "--unused-by", nargs="+", metavar="RUN", help="no question of these finished runs"
    )
    prune.add_argument("--yes", action="store_true", help="remove it; without this it is only told")
    return parser


def _stats(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.engine.upkeep import tally
    from helix.reports.words import counted

    found, where = tally(cache.rows()), cache.where
    listed = sorted(found.by.items(), key=lambda pair: (pair[0].role or "~", pair[0].model or "~"))
    told = {"where": where, "replies": found.replies, "bytes": found.bytes}
    told |= {"damaged": found.damaged, "first": _day(found.first), "last": _day(found.last)}
    told["by"] = [{**dataclasses.asdict(of), "replies": n} for of, n in listed]
    lines = [f"{counted(found.replies, 'reply', 'replies')}, {found.bytes:,} bytes in {where}"]
    lines += [f"  {_of(of)}: {n:,}" for of, n in listed]
    if found.first is not None:
        lines.append(f"  kept from {_day(found.first)} to {_day(found.last)}")
    if found.damaged:
        lines.append(f"  damaged: {found.damaged:,}; helix cache verify names them")
    _say(args, told, lines)
    return ExitCode.PASS


def _of(of: Of) -> str:
    from helix.reports.visible import one_line

    return "kept without what was asked" if of.model is None else f"{of.role} {one_line(of.model)}"


def _day(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()


def _verify(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.engine.upkeep import OnDisk
    from helix.reports.visible import one_line
    from helix.reports.words import counted

    cache.check()
    sound, damaged, where = 0, {}, cache.where
    for row in cache.rows():
        sound += row.kept is not None
        if row.kept is None:
            damaged[row.key] = row.fault
    lines = [f"{counted(sound, 'reply', 'replies')} read back in {where}"]
    lines += [f"  damaged: {one_line(key)}: {one_line(str(why))}" for key, why in damaged.items()]
    _say(args, {"where": where, "sound": sound, "damaged": damaged}, lines)
    if not damaged:
        return ExitCode.PASS
    cure = "remove these there by their keys, and they are asked again"
    if isinstance(cache, OnDisk):
        aside = f"{where}.damaged"
        words = ["mv", where, aside], ["helix", "cache", "merge", aside, "--state", args.state]
        cure = "to keep the others: " + " && ".join(map(shlex.join, words))
    many = counted(len(damaged), "reply", "replies")
    raise CacheError(f"{many} of {where} cannot be read; {cure}")


def _export(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.app.recordings import export
    from helix.reports.words import counted

    if not args.out:
        raise UsageError("helix cache export needs the file to write: add --out FILE.jsonl")
    done = export(cache, args.out, args.run, args.dispatch)
    if args.json:
        told = {"file": str(done.file), "recordings": done.recordings, "leftOut": done.left_out}
        console.say_json(told)
        return ExitCode.PASS
    console.say(f"{counted(done.recordings, 'recording')} in {done.file}")
    if done.left_out:
        left = counted(done.left_out, "reply", "replies")
        why = "cannot be used" if args.dispatch else "kept by an earlier version"
        console.tell(f"{left} left out: {why}, or without what was asked")
    return ExitCode.PASS


def _import(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.app.recordings import imported

    return _merged(args, cache, imported(cache, args.paths))


def _merge(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.engine.upkeep import Merged, another, merge, rows

    merged, folders = Merged(), [another(path, cache) for path in args.paths]
    with cache.open() as store:
        for folder in folders:
            merge(store, rows(folder), merged)
    return _merged(args, cache, merged)


def _merged(args: argparse.Namespace, cache: Cache, merged: Merged) -> ExitCode:
    from helix.reports.visible import one_line
    from helix.reports.words import counted

    many, clashes = len(merged.left_out), merged.conflicts
    lines = [
        f"{counted(merged.added, 'reply', 'replies')} added to {cache.where}, "
        f"{merged.present:,} there already, {counted(len(clashes), 'conflict')}, {many:,} left out"
    ]
    lines += [
        f"  conflict {one.key[:DIGITS]}: {one.stands[:DIGITS]} stands, not {one.refused[:DIGITS]}"
        for one in clashes[:SHOWN]
    ]
    lines += [f"  left out: {one_line(text)}" for text in merged.left_out[:SHOWN]]
    if max(len(clashes), many) > SHOWN:
        lines.append(f"  the first {SHOWN} of each are shown; --json shows all")
    told = dataclasses.asdict(merged)
    _say(args, {**told, "leftOut": told.pop("left_out")}, lines)
    return ExitCode.PASS


def _prune(args: argparse.Namespace, cache: Cache) -> ExitCode:
    from helix.app.recordings import UsedBy
    from helix.engine.upkeep import Rule, prune
    from helix.reports.words import counted

    if not (args.older_than or args.model or args.unused_by):
        raise UsageError(
            "helix cache prune must be told what may go: --older-than DAYS, --model MODEL, "
            "--unused-by RUN …; of several, all must hold"
        )
    runs = [UsedBy.open(folder, "--unused-by") for folder in args.unused_by or ()]
    rule = Rule(
        before=time.time() - args.older_than * DAY_S if args.older_than else None,
        model=args.model,
        used=(lambda asked: any(one.has(asked) for one in runs)) if runs else None,
    )
    found = prune(cache.rows(), rule)
    removed = 0
    if args.yes and found.keys:
        with cache.open() as store:
            removed = store.remove(found.keys)
    named = counted(len(found.keys), "reply", "replies")
    went = f"{counted(removed, 'reply', 'replies')} removed" if args.yes else f"{named} may go"
    lines = [f"{went} ({found.bytes:,} bytes), {found.stay:,} stay"]
    if found.unknown:
        why = "they do not say what was asked, or when"
        lines.append(f"  {found.unknown:,} of these stay because {why}")
    if found.keys and not args.yes:
        lines.append("  nothing is removed yet: the same command with --yes removes it")
    told = {"named": len(found.keys), "bytes": found.bytes, "removed": removed}
    _say(args, {**told, "stay": found.stay, "unknown": found.unknown}, lines)
    return ExitCode.PASS


def _say(args: argparse.Namespace, told: dict[str, Any], lines: list[str]) -> None:
    if args.json:
        console.say_json(told)
    else:
        console.say("\n".join(lines))
