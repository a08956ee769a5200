"""What a run says of dispatched questions: which wait, what is wrong with answers, what is next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from helix.app.job import invoked
from helix.app.suite_rows import STATE
from helix.backends.dispatch import ANSWER_NAME, FOLDER, GUIDE, Tray, WaitingTask
from helix.reports.visible import one_line
from helix.reports.words import counted

SHOWN = 20
SHOWN_UNUSED = 5
FAULT = 300


def told(trays: Sequence[Tray], typed: str) -> tuple[str, ...]:
    """Return the last lines of a run that dispatched; none where nothing waits or lies about.

    `typed` is the command as it can be typed again.
    """
    lines: list[str] = []
    for tray in trays:
        lines += _waiting(tray)
        lines += _unused(tray)
        if tray.waiting and tray.idle:
            what = counted(len(tray.idle), "more question")
            lines.append(f"Not asked now: {what} in {tray.folder}, of other runs or prompts")
    guides = " and ".join(str(Path(tray.folder) / GUIDE) for tray in trays if tray.waiting)
    here = [f"  {_here(tray)}" for tray in trays if any(map(_asked_here, tray.waiting))]
    if guides:
        how = f"as {guides} says, or one by one in a terminal" if here else f"as {guides} says"
        lines += [f"Next: answer them {how}, then run the same command again:", *here]
        lines += [f"  {typed}"]
    return tuple(lines)


def _asked_here(task: WaitingTask) -> bool:
    return task.role != "determiner"


def _here(tray: Tray) -> str:
    """Return the command that asks what waits, and no question of another run beside it."""
    asked = tray.copies if tray.idle and tray.copies else tray.folder
    folder = [] if Path(asked) == Path(STATE, FOLDER) else [asked]
    return f"{shlex.join([*invoked(), 'answer', *folder])} --by NAME"


def _waiting(tray: Tray) -> Iterator[str]:
    if not tray.waiting:
        return
    refused = [task for task in tray.waiting if task.fault is not None]
    rest = [task for task in tray.waiting if task.fault is None]
    checks = sum(task.role == "verifier" for task in tray.waiting)
    notes = [f"{checks} of them to check verdicts, by another reviewer"] if checks else []
    notes += [f"{counted(len(refused), 'answer')} cannot be used"] if refused else []
    detail = f" ({'; '.join(notes)})" if notes else ""
    yield f"Waiting: {counted(len(tray.waiting), 'question')} in {tray.folder}{detail}"
    yield from _refused(refused[:SHOWN])
    for task in rest[: max(SHOWN - len(refused), 0)]:
        again = ", asked again" if task.attempt else ""
        yield f"  {task.file}  trace {one_line(task.trace_id, 60)}{again}"
    more = len(tray.waiting) - SHOWN
    if more > 0:
        yield f"  and {more:,} more: the run's folder dispatch/ holds a copy of each"


def _refused(tasks: Sequence[WaitingTask]) -> Iterator[str]:
    """Name each answer that cannot be used; a fault of several is told once, above them."""
    answers: dict[str, list[str]] = {}
    for task in tasks:
        answers.setdefault(one_line(task.fault or "", FAULT), []).append(task.answer)
    for fault, names in answers.items():
        if len(names) == 1:
            yield f"  cannot be used: {names[0]}: {fault}"
            continue
        yield f"  cannot be used: {fault}:"
        yield from (f"    {name}" for name in names)


def _unused(tray: Tray) -> Iterator[str]:
    answers = [name for name in tray.unused if ANSWER_NAME.fullmatch(name)]
    if answers:
        yield _listed(tray, answers, "that no question of this run asks for")
        yield "  as they answer another run, or what a suite, trace or prompt was before it changed"
    others = [name for name in tray.unused if name not in answers]
    if others:
        yield _listed(tray, others, "not named as an answer is, KEY.verdict.json")


def _listed(tray: Tray, names: Sequence[str], why: str) -> str:
    shown = ", ".join(one_line(name, 90) for name in names[:SHOWN_UNUSED])
    more = len(names) - SHOWN_UNUSED
    shown += f" and {more:,} more" if more > 0 else ""
    return f"Not used: {counted(len(names), 'file')} in {tray.folder} {why}: {shown}"
