"""From kept replies or dispatched answers to recordings, which `judge=replay` reads (METHOD 44)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.backends.dispatch import answered
from helix.backends.mailbox import (
    Cached,
    Recording,
    RecordingHeader,
    is_recordings,
    read_recordings,
    unit_key,
    write_recordings,
)
from helix.engine.kept import Kept, Row
from helix.engine.upkeep import Cache, Merged, merge
from helix.errors import ArtifactError, CacheError, UsageError
from helix.model.request import Question, Reply, Usage
from helix.pins import pin_dict
from helix.runs import RunFiles

_KEY = re.compile("[0-9a-f]{64}")
MADE_HOW = "exported by helix cache export; each line says who answered"


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote and what it left out.

    Left out are replies that an earlier version kept without what they answer, and dispatched
    answers that are unusable or have no question beside them.
    """

    file: Path
    recordings: int
    left_out: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A reply, what it answers, and its key in the reply cache if it is from there."""

    reply: Reply
    asked: Question
    key: str | None = None


@dataclass(frozen=True, slots=True)
class UsedBy:
    """What tells a run's replies from the others in the cache: pins, traces, prompts."""

    pins: tuple[Mapping[str, Any], ...]
    traces: frozenset[str]
    prompts: frozenset[str]

    @classmethod
    def open(cls, folder: str, named: str = "--run") -> UsedBy:
        """Read a finished run that an option named; raises ArtifactError where there is none."""
        run = RunFiles.open(folder, named)
        card = run.scorecard()
        prompts = [line.provenance.prompt for line in run.lines() if line.provenance]
        return cls(
            (card.judge.requested, card.verifier.requested),
            frozenset(entry.digest for entry in run.manifest()),
            frozenset(prompt for prompt in prompts if prompt),
        )

    def has(self, question: Question) -> bool:
        """Whether a question may be one of the run's."""
        return question.unit.trace_digest in self.traces and pin_dict(question.pin) in self.pins


def export(cache: Cache, out: str, run: str | None = None, answers: str | None = None) -> Exported:
    """Write the kept replies as recordings, or those of one run; the rewrite is identical.

    With `answers`, a folder of dispatched tasks, the answers there are written instead.

    Raises UsageError where nothing can be exported, where a file of another kind is in the way,
    and where two replies answer one unit, since a replay could not tell them apart.
    """
    target = Path(out)
    if target.suffix != ".jsonl":
        raise UsageError(f"--out must be a file that ends in .jsonl (got {out})")
    if target.exists() and not is_recordings(target):
        raise UsageError(f"--out {out} is there and holds no recordings; name another file")
    wanted = None if run is None else UsedBy.open(run)
    found = _cached(cache) if answers is None else _dispatched(Path(answers))
    kept, left_out = _by_unit(found, wanted)
    chosen = [_one(replies, wanted) for replies in kept.values()]
    if not chosen:
        why = f" ({left_out} do not say what they answer)" if left_out else ""
        source = cache.where if answers is None else answers
        raise UsageError(f"no reply in {source} can be exported{why}")
    target.parent.mkdir(parents=True, exist_ok=True)
    recordings = list(map(_recording, chosen))
    write_recordings(target, _header(recordings), recordings)
    return Exported(target, len(recordings), left_out)


def _cached(cache: Cache) -> Iterator[_Kept | None]:
    for row in cache.rows():
        if row.kept is None:
            raise CacheError(
                f"reply {row.key} in {cache.where} is damaged: {row.fault}; helix cache verify "
                "names each, and what to do"
            )
        asked = row.kept.asked
        yield None if asked is None else _Kept(row.kept.reply, asked, row.key)


def _dispatched(folder: Path) -> Iterator[_Kept | None]:
    if not folder.is_dir():
        raise UsageError(f"--dispatch must be a folder of questions and answers (got {folder})")
    for found in answered(folder):
        yield None if found is None else _Kept(found[1], Question.of(found[0]))


def _by_unit(
    found: Iterable[_Kept | None], wanted: UsedBy | None
) -> tuple[dict[str, list[_Kept]], int]:
    """Return replies by the unit that they answer, and how many do not say what they answer."""
    units: dict[str, list[_Kept]] = defaultdict(list)
    left_out = 0
    for kept in found:
        if kept is None:
            left_out += 1
        elif wanted is None or wanted.has(kept.asked):
            units[unit_key(kept.asked.unit)].append(kept)
    return units, left_out


def _one(found: list[_Kept], wanted: UsedBy | None) -> _Kept:
    if wanted is not None and len(found) > 1:
        found = [one for one in found if one.asked.prompt in wanted.prompts] or found
    if any(_said(other) != _said(found[0]) for other in found[1:]):
        unit = found[0].asked.unit
        hint = "--run RUN takes those of one run" if wanted is None else "set another paths.state"
        raise ArtifactError(
            f"there are {len(found)} replies to one unit ({unit.role} of trace "
            f"'{unit.trace_id}', replicate {unit.replicate}, attempt {unit.attempt}), asked with "
            f"other prompts or pins: {hint}"
        )
    return found[0]


def _said(kept: _Kept) -> str:
    return kept.reply.text.replace(kept.asked.nonce, "")


def _recording(kept: _Kept) -> Recording:
    reply, question = kept.reply, kept.asked
    return Recording(
        key=unit_key(question.unit),
        unit=question.unit,
        nonce=question.nonce,
        model=reply.returned_model,
        asked=None if reply.returned_model else question.pin.model,
        text=reply.text,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
        usage=reply.usage,
        effective=reply.effective,
        made_by=reply.made_by or question.pin.identity,
        draw=reply.draw,
        cached=None
        if kept.key is None
        else Cached(key=kept.key, pin=question.pin, prompt=question.prompt, made_by=reply.made_by),
    )


def imported(cache: Cache, paths: Iterable[str]) -> Merged:
    """Keep recorded replies again under the keys that they had in a cache; what stands stands.

    Left out are recordings that no cache kept: they do not say what would find them there.
    """
    merged = Merged()
    found = [_row(*pair) for path in paths for pair in read_recordings(Path(path))]
    with cache.open() as store:
        merge(store, found, merged)
    return merged


def _row(at: str, one: Recording) -> Row:
    held = one.cached
    if held is None:
        return Row(at, 0, 0.0, None, "it does not say under which key a cache kept it")
    if not _KEY.fullmatch(held.key):
        raise ArtifactError(f"{at}: cached.key must be 64 hex digits (got {held.key!r:.80})")
    reply = Reply(
        text=one.text,
        finish_reason=one.finish_reason,
        returned_model=one.model,
        reasoning=one.reasoning,
        usage=one.usage or Usage(),
        effective=one.effective,
        made_by=held.made_by,
        draw=one.draw,
    )
    asked = Question(unit=one.unit, nonce=one.nonce, pin=held.pin, prompt=held.prompt)
    return Row(held.key, 0, 0.0, Kept(reply, asked))


def _header(recordings: Iterable[Recording]) -> RecordingHeader:
    by = sorted({one.made_by for one in recordings if one.made_by})
    return RecordingHeader(
        recordings="replies that were asked for once", made_by=", ".join(by), made_how=MADE_HOW
    )
