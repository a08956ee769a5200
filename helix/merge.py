"""Merging shard runs: their lines in the plan's order, folded once (DESIGN “Scale”).

Scorecards are never added. What is merged must be one run in shares: the same plan, the same
manifest, every share once, no trace without its line.
"""

from __future__ import annotations

import heapq
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from helix.engine.meter import Meter
from helix.errors import ArtifactError, ExitCode
from helix.files import atomic_write, atomic_writer, held
from helix.gate import exit_code, fold, with_tests
from helix.gate.frozen import from_data
from helix.model.lines import decode_line, encode_page
from helix.model.manifest import Manifest, ManifestEntry, Survey
from helix.model.plan import Plan
from helix.model.scorecard import ChangeTests, Scorecard, UsageTotals
from helix.runmeta import process_identity
from helix.runs import RunFiles
from helix.survey import share, write_manifest

WORST_TESTS: Final = ("fail", "could not run", "not run", "pass")
OWNERS: Final = {
    "verdicts.jsonl": "trajectoryId",
    "decisions.jsonl": "trace",
    "failures.jsonl": "traceId",
    "candidates.jsonl": "traceId",
}
"""The line artifacts, and where a line names its trace."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A run that came of shards: its scorecard, and what the command should exit with."""

    scorecard: Scorecard
    exit_code: ExitCode
    run_dir: Path
    shards: int


@dataclass(frozen=True, slots=True)
class Shard:
    """A finished run of a share: its folder, plan, scorecard, and what its run meta says."""

    files: RunFiles
    plan: Plan
    index: int
    count: int
    scorecard: Scorecard
    meta: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Shard:
        """Read a shard; ArtifactError where the folder is no finished run of evaluate."""
        path = Path(folder)
        if not (path / "plan.json").is_file():
            raise ArtifactError(f"{folder} must be the folder of a run (no plan.json)")
        plan, meta = RunFiles(path).plan(), _recorded(path)
        part = plan.runs.get("shard") or {}
        index, count = part.get("index", 0), part.get("count", 1)
        if not (path / "scorecard.json").is_file():
            raise ArtifactError(
                f"shard {index} of {count} ({folder}) did not finish: type its command again, with "
                f"shard.index={index} shard.count={count} hydra.run.dir={shlex.quote(str(folder))}"
            )
        if plan.fold is None:
            raise ArtifactError(
                f"{folder} must be a run of helix evaluate that kept what its gate was told (this "
                "one holds no verdicts, or an older Helix wrote it): type its command again"
            )
        files = RunFiles(path)
        return cls(files, plan, index, count, files.scorecard(), meta)

    @property
    def name(self) -> str:
        """How the shard is spoken of."""
        return f"shard {self.index} of {self.count} ({self.files.folder})"

    def command(self, index: int | None = None) -> str:
        """Return what was typed for this shard, or what would be for another."""
        typed = str(self.meta.get("command") or "helix evaluate, as for the other shards,")
        if index is None:
            return typed
        words = [w for w in shlex.split(typed) if not w.startswith(("shard.", "hydra.run.dir="))]
        return f"{shlex.join(words)} shard.index={index} shard.count={self.count}"


def merge(folders: Sequence[str | Path], out: str | Path) -> Merged:
    """Write the run that the shards are shares of to `out`; ArtifactError where they are none.

    Lines stream; memory follows the manifest.
    """
    shards = _shards(folders)
    survey = _survey(shards)
    first, folder = shards[0], Path(out)
    plan = from_data(first.plan.fold or {})
    _check_whole(shards, plan.replicates)
    with held(folder, otherwise="name another with --out DIR"):
        if any(folder.iterdir()):
            raise ArtifactError(f"--out must be a new or empty folder (got {folder})")
        runs = {**first.plan.runs, "shard": {"index": 0, "count": 1}}
        whole = msgspec.structs.replace(first.plan, runs=runs)
        atomic_write(folder / "plan.json", encode_page(whole))
        write_manifest(folder, survey)
        subject = first.files.folder / "subject.json"
        if subject.exists():
            atomic_write(folder / "subject.json", subject.read_bytes())
        for name, owner in OWNERS.items():
            _merge_lines(shards, folder, name, owner, survey.entries)
        card = fold(plan, survey, RunFiles(folder).lines(), _usage(shards))
        card = with_tests(card, _tests(shards, folder))
        code = exit_code(card.run_verdict, advisory=first.plan.runs.get("exit") == "advisory")
        atomic_write(folder / "runmeta.json", encode_page(_meta(shards, folder, card, code)))
        atomic_write(folder / "scorecard.json", encode_page(card))
    return Merged(card, code, folder, len(shards))


def _tests(shards: Sequence[Shard], folder: Path) -> ChangeTests | None:
    """Return the worst that the tests of a code change said in any share, with their output."""
    said = [(s.scorecard.quality.tests, s.files.folder) for s in shards if s.scorecard.quality]
    if not said:
        return None
    tests, at = min(said, key=lambda pair: WORST_TESTS.index(pair[0].state))
    if tests.output is not None and (at / tests.output).is_file():
        atomic_write(folder / tests.output, (at / tests.output).read_bytes())
    return tests


def _shards(folders: Sequence[str | Path]) -> list[Shard]:
    """Return the shards in order of their share; each once, all of one run, none missing."""
    if not folders:
        raise ArtifactError("name the folders of the shards: helix report merge RUN… --out DIR")
    found = [Shard.open(folder) for folder in folders]
    first = found[0]
    by_index: dict[int, Shard] = {}
    for shard in found:
        if shard.plan.digest != first.plan.digest:
            raise ArtifactError(
                f"{shard.name} must be of the run that {first.name} is of (their plans differ: "
                f"{shard.plan.digest[:12]}, {first.plan.digest[:12]})"
            )
        if shard.count != first.count:
            raise ArtifactError(
                f"{shard.name} must be one of {first.count} shards, as {first.name} is"
            )
        if shard.index in by_index:
            other = by_index[shard.index].files.folder
            raise ArtifactError(f"{shard.name} was given twice: {other} is the same share")
        by_index[shard.index] = shard
    if missing := [index for index in range(first.count) if index not in by_index]:
        listed = ", ".join(map(str, missing))
        raise ArtifactError(
            f"shard {listed} of {first.count} is missing: name its folder, or type\n"
            + "\n".join(f"  {first.command(index)}" for index in missing)
        )
    return [by_index[index] for index in range(first.count)]


def _survey(shards: Sequence[Shard]) -> Survey:
    """Return what all shards surveyed, with every chosen trace marked."""
    entries = Manifest()
    manifests = [shard.files.manifest() for shard in shards]
    for row in zip(*(_or_none(m) for m in manifests), strict=False):
        if all(entry is None for entry in row):
            break
        entries.append(_entry(shards, row))
    return Survey(entries=entries, load=shards[0].scorecard.load)


def _or_none(entries: Iterator[ManifestEntry]) -> Iterator[ManifestEntry | None]:
    yield from entries
    while True:
        yield None


def _entry(shards: Sequence[Shard], row: Sequence[ManifestEntry | None]) -> ManifestEntry:
    first = row[0]
    for shard, entry in zip(shards, row, strict=True):
        if first is None or entry is None or _same(entry) != _same(first):
            at = entry or first
            where = "at its end" if at is None else f"at trace '{at.id}'"
            raise ArtifactError(
                f"{shard.name} must have read the traces that {shards[0].name} read (their "
                f"manifests differ {where}): run both on the same input"
            )
        if entry.selected and share(entry.id, shard.count) != shard.index:
            raise ArtifactError(f"{shard.name} holds trace '{entry.id}', which is not of its share")
    assert first is not None
    chosen = any(entry.selected for entry in row if entry is not None)
    return msgspec.structs.replace(first, selected=chosen)


def _same(entry: ManifestEntry) -> tuple[Any, ...]:
    """Return what of an entry shards must agree on; where the files lie may differ by machine."""
    return entry.ordinal, entry.id, entry.digest, entry.line, entry.format, entry.route, entry.task


def _merge_lines(
    shards: Sequence[Shard], folder: Path, name: str, owner: str, entries: Manifest
) -> None:
    """Copy a line artifact of all shards into the plan's order, byte for byte."""
    streams = [_placed(shard, name, owner, entries) for shard in shards]
    with atomic_writer(folder / name) as target:
        for _, line in heapq.merge(*streams, key=lambda pair: pair[0]):
            target.write(line)


def _placed(shard: Shard, name: str, owner: str, entries: Manifest) -> Iterator[tuple[int, bytes]]:
    path, before = shard.files.folder / name, -1
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    at = _ordinal(entries, decode_line(line, dict)[owner])
                except (ValueError, KeyError, TypeError) as error:
                    raise ArtifactError(f"{path}, line {number} is damaged: {error}") from None
                if at < before or not line.endswith(b"\n"):
                    raise ArtifactError(f"{path}, line {number} is damaged: not in plan order")
                before = at
                yield at, line
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def _ordinal(entries: Manifest, trace: str) -> int:
    entry = entries.find(trace)
    if entry is None:
        raise KeyError(trace)
    return entry.ordinal


def _check_whole(shards: Sequence[Shard], replicates: int) -> None:
    """Refuse a shard with a chosen trace that has no line: it waits, or broke."""
    for shard in shards:
        wanted = sum(entry.selected for entry in shard.files.manifest()) * replicates
        lines = sum(1 for _ in shard.files.lines())
        if lines == wanted:
            continue
        waits = shard.meta.get("exitCode") == ExitCode.WAITING
        what = "waits for answers: give them" if waits else "is not whole"
        raise ArtifactError(
            f"{shard.name} {what} ({lines} of {wanted} lines), then type its command again:\n"
            f"  {shard.command()}"
        )


def _usage(shards: Sequence[Shard]) -> UsageTotals:
    meter = Meter()
    for shard in shards:
        meter.elsewhere(shard.scorecard.usage)
    return meter.totals()


def _recorded(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "runmeta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _meta(shards: Sequence[Shard], folder: Path, card: Scorecard, code: ExitCode) -> dict[str, Any]:
    """Return how the run came about: its shards, and the first one's record without its share."""
    first = shards[0].meta
    began = [str(s.meta["startedAt"]) for s in shards if s.meta.get("startedAt")]
    words = shlex.split(str(first.get("command") or ""))
    kept = [w for w in words if not w.startswith(("shard.", "hydra.run.dir="))]
    return {
        **first,
        "runId": folder.name,
        "runIdNamespace": folder.absolute().parent.name,
        "process": process_identity(),
        "startedAt": min(began, default=None),
        "durationS": None,
        "command": shlex.join(kept) or None,
        "exitCode": int(code),
        "runVerdict": card.run_verdict,
        "shards": [str(shard.files.folder) for shard in shards],
    }
