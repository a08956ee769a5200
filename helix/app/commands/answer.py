"""`helix answer`: a person answers dispatched questions in a terminal, each citation looked up."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from helix.app import console
from helix.app.suite_rows import STATE
from helix.backends.answers import Refused, reviewed_by, usable
from helix.backends.dispatch import FOLDER, GUIDE, Unanswered, rubric_name, unanswered
from helix.errors import ExitCode, SelectionError, UsageError, unknown
from helix.files import atomic_write
from helix.grounding.texts import says
from helix.judging.asked import Asked, read_back
from helix.model.request import Request, same_name
from helix.model.verdict import MAX_CITED, Ref
from helix.reports.visible import one_line, visible
from helix.reports.words import counted, wrapped

MOST_PLACES = 9
SHOWN = 60
RESULTS = ("pass", "fail", "uncertain", "na", "cut")
COPY = "words out of the recording"
TOLD_RESULTS = "pass, fail, uncertain, na: does not apply, cut: breaks off"
MISSING = {"fact": "factual-intent", "norm": "normative", "scope": "scope"}
Cell = dict[str, Any]


class _Again(Exception):
    """`:again` was typed: the criterion, or what is asked before the first, begins anew."""


class _Skipped(Exception):
    """`:skip` was typed: the question is left for later."""


def run(argv: Sequence[str]) -> ExitCode:
    """Ask what waits in a folder, question by question, and write each answer as it is done."""
    args = _parser().parse_args(argv)
    try:
        by = reviewed_by(args.by)
    except Refused as refused:
        raise UsageError(str(refused).replace('"reviewer"', "--by")) from None
    folder = Path(args.folder)
    if not folder.is_dir():
        raise UsageError(
            f"DIR must be the folder of the questions (got {folder}); a run with judge=dispatch "
            "writes it and says where"
        )
    waiting = list(_for(by, _chosen(unanswered(folder), args.trace)))
    if not waiting:
        console.say(f"nothing waits in {folder} for {by}")
        return ExitCode.PASS
    _greet(folder, len(waiting))
    done = sum(_answered(task, by, at, len(waiting)) for at, task in enumerate(waiting, 1))
    left = f"; {counted(len(waiting) - done, 'question')} left" if done < len(waiting) else ""
    console.say(f"\n{counted(done, 'question')} answered by {by}{left}")
    console.say("Next: run the same helix command again, which looks it all up and goes on")
    return ExitCode.PASS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="helix answer",
        description="Answer the questions of judge=dispatch in this terminal. Each is shown, what "
        "you type is asked for piece by piece, every citation is looked up at once where you say "
        "it stands, and the answer is written beside the question; then the same helix command "
        "goes on. Where standard input is no terminal, its lines are taken for what is typed. "
        "Questions of helix discover, and answers by a program, are told of in DIR/README.md. "
        "Exits 0, 2 where it cannot begin or the lines end too soon, or 130 by Ctrl-C; what was "
        "answered stays.",
    )
    text = f"the folder of the questions ({STATE}/{FOLDER}); that of a run holds those it waits for"
    parser.add_argument("folder", metavar="DIR", nargs="?", default=f"{STATE}/{FOLDER}", help=text)
    text = "who answers; a check of verdicts must come from another than who gave them"
    parser.add_argument("--by", metavar="NAME", required=True, help=text)
    text = "about this trace alone; may be given several times"
    parser.add_argument("--trace", metavar="ID", action="append", default=[], help=text)
    return parser


def _chosen(tasks: Iterator[Unanswered], traces: Sequence[str]) -> list[Unanswered]:
    """Return the questions in the order of traces, those that are none last."""
    found = sorted(tasks, key=_order)
    ids = list(dict.fromkeys(t.request.unit.trace_id for t in found if t.request))
    for trace in traces:
        if trace not in ids:
            raise SelectionError(unknown("trace that waits", trace, ids))
    return [t for t in found if not traces or (t.request and t.request.unit.trace_id in traces)]


def _order(task: Unanswered) -> tuple[Any, ...]:
    if task.request is None:
        return (1,)
    unit = task.request.unit
    return (0, unit.trace_id, unit.role, unit.criteria, unit.replicate, unit.attempt)


def _for(by: str, tasks: Sequence[Unanswered]) -> Iterator[Unanswered]:
    """Yield what one person may answer here, and say of the rest why it is left."""
    left: Counter[str] = Counter()
    for task in tasks:
        request = task.request
        if request is None:
            left[f"{task.file.name} was changed, or is none; delete it and run again"] += 1
        elif request.unit.role == "determiner":
            left[f"of helix discover, to be answered as {GUIDE} says"] += 1
        elif any(same_name(by, judge) for judge in request.not_by):
            left[f"to check what {by} said, by another reviewer"] += 1
        else:
            yield task
    for text, many in left.items():
        _tell(f"Left: {counted(many, 'question')}: {text}")


def _greet(folder: Path, many: int) -> None:
    _tell(f"{counted(many, 'question')} in {folder}. Judge from what each shows, and from nothing "
          "else; what stands in a recording is data, and no order to you.")  # fmt: skip
    _tell(":again begins a criterion anew, :skip leaves a question for later, Ctrl-C ends.")


def _answered(task: Unanswered, by: str, at: int, many: int) -> bool:
    """Ask one question and write its answer; say whether it was answered."""
    request = task.request
    assert request is not None
    unit = request.unit
    what = "to check" if unit.role == "verifier" else "to judge"
    rows = f", {counted(len(unit.criteria), 'criterion', 'criteria')} {what}" * bool(unit.criteria)
    console.say(f"\n=== {at} of {many}: {one_line(unit.trace_id, SHOWN)}{rows}")
    rubric = task.answer.with_name(rubric_name(request))
    if at == 1 and rubric.is_file():
        _tell(f"The rules, to be read once: {rubric}")
    if task.fault is not None:
        _tell(f"{task.answer.name} cannot be used and will be replaced: {task.fault}")
    _earlier(request)
    console.say("\n")
    answer = None
    while answer is None:
        try:
            answer = _Question(request, read_back(request)).answer()
        except _Again:
            continue
        except _Skipped:
            return False
    answer = {"nonce": request.nonce, "reviewer": by, **answer}
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    try:
        usable(text, request)
        atomic_write(task.answer, f"{text}\n".encode())
    except (Refused, OSError) as error:
        raise UsageError(f"{task.answer} cannot be written: {error}") from error
    console.say(f"written: {task.answer.name[:12]}….verdict.json")
    return True


def _earlier(request: Request) -> None:
    """Show what a question that is asked again repeats: the earlier answer, what is wrong in it."""
    for message in [m for m in request.messages if m.role != "system"][1:]:
        console.say(f"\nAsked again; {message.role}:\n{visible(message.content)}")


@dataclass(frozen=True, slots=True)
class _Question:
    """One question while it is asked."""

    request: Request
    asked: Asked

    def answer(self) -> dict[str, Any]:
        """Return what was typed, in the shape that the question asks for."""
        unit = self.request.unit
        if unit.role == "verifier":
            _show(self.asked.goal, self.asked.course, self.asked.around)
            return {"reviews": [self._until_sound(self._review, c) for c in unit.criteria]}
        if not unit.criteria:
            _show(self.asked.goal, self.asked.around)
            return _expected()
        _show(self.asked.goal)
        walk = {} if unit.axis == "criterion" else self._walk()
        _show(self.asked.course, self.asked.around)
        cells: list[Cell] = []
        for criterion in unit.criteria:
            cells.append(self._until_sound(self._cell, criterion))
            if cells[-1]["result"] == "cut":
                return _cut(cells[-1], unit.axis == "criterion")
        if unit.axis == "criterion":
            return cells[0]
        return {
            **walk,
            "judgeSteps": [step for cell in cells for step in _steps(cell)],
            "fidelity": {"complete": True},
            "verdicts": [cell for cell in cells if cell["result"] != "na"],
            "notApplicable": [cell for cell in cells if cell["result"] == "na"],
        }

    def _walk(self) -> dict[str, Any]:
        """Ask what can be said before it is seen what was done (METHOD 33), unless it was said."""
        schema = self.request.reply_schema or {}
        rephrased = _sentence("What was it asked to do", "in your words")
        expected = _expected() if "expectedTrajectory" in schema.get("properties", {}) else {}
        return {"understanding": {"rephrase": rephrased}, **expected}

    def _until_sound(self, ask: Callable[[str], Cell], criterion: str) -> Cell:
        """Ask for a criterion until what was typed can stand."""
        while True:
            _show(["", *self.asked.rows[criterion]])
            with contextlib.suppress(_Again):
                cell = ask(criterion)
                unseen = cell.get("result") in (None, "cut")  # a review, or no verdict at all
                nonce = self.request.nonce
                wrong = [] if unseen else self.asked.wrong(criterion, nonce, cell)
                if not wrong:
                    return cell
                _tell("This cannot stand; once more please:")
                for text in wrong:
                    _tell(f"  {text}")

    def _cell(self, criterion: str) -> Cell:
        """Ask for a row in the order of the method: terms, evidence, why, and then the result."""
        bindings: list[Cell] = [
            {"term": term, "ref": self._cited(f"“{term}” refers to", f"{COPY}; empty: nothing")}
            for term in self.asked.terms[criterion]
        ]
        refs = list(iter(self._evidence, None))
        critique = _sentence("Why", "what it shows, and the strongest reading against it")
        cell: Cell = {"criterionId": criterion, "bindings": bindings, "refs": refs}
        result = self._result([b["term"] for b in bindings if b["ref"] is None], bool(refs))
        cell |= {"critique": critique, "result": result}
        if result == "uncertain":
            kind = MISSING[_choice("What is missing", tuple(MISSING))]
            cell["blockedBy"] = {"kind": kind, "text": _sentence("Which", "in a sentence")}
        elif result in ("pass", "fail"):
            cell["claim"] = _sentence("Claim", f"one sentence of fact that alone forces {result}")
            cell["litmus"] = _litmus()
        return cell

    def _result(self, unbound: Sequence[str], cited: bool) -> str:
        while True:
            result = _choice("Result", RESULTS, TOLD_RESULTS)
            if result in ("pass", "fail") and unbound:
                _tell(f"  “{unbound[0]}” refers to nothing here, which leaves uncertain or na")
            elif result in ("pass", "fail", "na") and not cited:
                _tell(f"  {result} needs evidence; :again begins anew")
            else:
                return result

    def _review(self, criterion: str) -> Cell:
        _show(self.asked.claims.get(criterion, ()))
        against = _sentence("Against it", "the strongest way in which it is wrong all the same")
        follows = _choice("Does it follow, with nothing assumed", ("yes", "no"))
        found = {"criterionId": criterion, "against": against, "entails": follows == "yes"}
        if follows == "yes":
            return found
        leap = _sentence("What would have to be assumed", "in a sentence")
        return found | {"leap": leap, "leapKind": MISSING[_choice("That is a", tuple(MISSING))]}

    def _evidence(self) -> Cell | None:
        channels = self.asked.ground.complete_channels
        scan = (
            f"scan CHANNEL PATTERN for what is not in {', '.join(channels)}; " if channels else ""
        )
        return self._cited("Evidence", f"{COPY}; {scan}empty: no more")

    def _cited(self, label: str, hint: str) -> Cell | None:
        """Ask for words until they stand somewhere, or nothing is typed; return the place."""
        while words := _asked(label, hint):
            ref = self._scan(words) if words.startswith("scan ") else None
            ref = ref or self._place(words)
            if ref is not None:
                weak = ", weak by itself: short or common words" if ref.match == "weak" else ""
                _tell(f"  in [{ref.obs}] {ref.path}{weak}")
                said: Cell = {"obs": ref.obs, "path": ref.path, "value": ref.value}
                if ref.scan is not None:
                    said |= {"scan": msgspec.to_builtins(ref.scan)}
                return said
        return None

    def _place(self, words: str) -> Ref | None:
        found = self.asked.places(words)
        if len(words) > MAX_CITED:
            _tell(f"  at most {MAX_CITED} characters are cited (got {len(words)})")
        elif not found:
            _tell("  found nowhere in what is shown; copy whole words, letter by letter")
        elif len(found) > MOST_PLACES:
            _tell(f"  found in {len(found)} places; copy more words")
        elif len(found) == 1:
            return found[0][0]
        else:
            for number, (ref, text) in enumerate(found, 1):
                _tell(f"  {number} [{ref.obs}] {ref.path}: {one_line(text, SHOWN)}")
            return found[int(_choice("Where", [str(n + 1) for n in range(len(found))])) - 1][0]
        return None

    def _scan(self, words: str) -> Ref | None:
        """Return a look through a channel that found nothing; None where it is no such look."""
        _, channel, pattern = (*words.split(" ", 2), "", "")[:3]
        if channel not in self.asked.ground.complete_channels or not pattern:
            return None
        ref = self.asked.absence(channel, pattern)
        if ref.match == "dead":
            _tell(f"  {ref.note}")
            return None
        return ref


def _expected() -> dict[str, Any]:
    steps = [_sentence("What should it do", "a step a line")]
    steps += iter(lambda: _asked("And then", "empty: no more"), "")
    return {"expectedTrajectory": [{"expected": step} for step in steps]}


def _litmus() -> Cell:
    premise = _asked("Assumed besides", "empty: nothing")
    shown = _sentence("Shown by", "an id that you cited") if premise else None
    return {"premise": premise, "groundedBy": shown}


def _cut(cell: Cell, alone: bool) -> dict[str, Any]:
    """Return the answer that a recording breaks off; alone it still has the shape of a verdict."""
    broken = {"fidelity": {"complete": False, "reason": cell["critique"]}}
    return cell | {"result": "uncertain"} | broken if alone else {**broken, "verdicts": []}


def _steps(cell: Cell) -> Iterator[Cell]:
    """Yield how a row was gone about: what was cited for it, and why it came out so."""
    for ref in cell["refs"]:
        yield {"kind": "gather", "text": cell["criterionId"], "ref": ref}
    yield {"kind": "critique", "text": f"{cell['criterionId']}: {cell['critique']}"}


def _choice(label: str, words: Sequence[str], hint: str = "") -> str:
    """Ask for one of some words, or as much of it as tells it from the others."""
    while True:
        typed = _asked(label, hint or ", ".join(words)).lower()
        found = [w for w in words if w == typed] or [w for w in words if w.startswith(typed)]
        if typed and len(found) == 1:
            return found[0]
        _tell(f"  must be one of {', '.join(words)}")


def _sentence(label: str, hint: str) -> str:
    """Ask until something is said."""
    while not says(typed := _asked(label, hint)):
        _tell("  must say something")
    return typed


def _asked(label: str, hint: str) -> str:
    """Ask for one line; what was read from no terminal is shown, so that both look the same."""
    _tell(f"{label} ({hint}):")
    try:
        typed = _typed().strip()
        typed.encode("utf-8")
    except UnicodeError:
        raise UsageError("what is typed must be UTF-8") from None
    if typed in (":again", ":skip"):
        raise _Again if typed == ":again" else _Skipped
    return typed


def _typed() -> str:
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")  # which lets `input` edit and recall lines
        try:
            return input("> ")
        except (EOFError, KeyboardInterrupt):
            console.say("\n")
            raise KeyboardInterrupt from None
    line = sys.stdin.readline()
    if not line:
        raise UsageError(
            "standard input ended before the question was answered: type `helix answer` in a "
            "terminal, or give it a line for each thing that it asks"
        )
    console.say(f"> {visible(line.strip())}".rstrip())
    return line


def _tell(text: str) -> None:
    indent = " " * (len(text) - len(text.lstrip()))
    console.say("\n".join(wrapped(visible(text.strip()), indent)))


def _show(*parts: Sequence[str]) -> None:
    for lines in parts:
        console.say(visible("\n".join(lines)))
