"""The loop: decide, do, write down, until nothing is left to do (METHOD 73–77).

    repeat ─► spread ─► accuracy ─► request ─► response ─► amended: repeat; rejected: retarget

What to do next is decided by `helix.improve.terminator`; every step is a line of swings.jsonl, from
which the same command goes on where it stopped. Helix writes into the loop's folder and into
`paths.state`, and nowhere else: it never edits the subject.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from helix import registry as registries
from helix.backends.dispatch import Tray
from helix.errors import ArtifactError, ConfigError, ExitCode, HelixError
from helix.files import atomic_write, held
from helix.improve.accuracy import Accuracy
from helix.improve.handover import hand_over
from helix.improve.log import SWINGS, Past, after, append, past, read_steps
from helix.improve.measure import Measured, Watch, again, configured, evaluated, measured
from helix.improve.programs import ProgramError
from helix.improve.record import improvement, scored
from helix.improve.request import ChangeRequest, Rejected, Sorted, compose, sort
from helix.improve.response import read_response, unchanged
from helix.improve.setup import Setup
from helix.improve.spread import Spread
from helix.improve.terminator import Observed, decide
from helix.model.canonical import digest
from helix.model.config import Config
from helix.model.improvement import Ending, Improvement, Lost, Step, SubjectMark
from helix.model.lines import encode_page
from helix.registry import EngineerContext, Fresh, Registry, SubjectContext
from helix.runs import RunFiles

RECORD = "improve.json"
EXITS: dict[Ending, ExitCode] = {
    "full-green": ExitCode.PASS,
    "undecided": ExitCode.INCOMPLETE,
    "traces": ExitCode.WAITING,
    "verdicts": ExitCode.WAITING,
    "response": ExitCode.WAITING,
}
_LEAVE = "restore it, or begin another loop with improve.id=NAME"
Page = Callable[[ChangeRequest], str]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Improved:
    """How a call of the loop ended: the record, the exit code, and what is waited for."""

    record: Improvement
    exit_code: ExitCode
    told: tuple[str, ...] = ()
    trays: tuple[Tray, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """What a loop gets from its caller; `at` is the time that dates what it writes."""

    page: Page
    at: str
    registry_of: Callable[[], Registry]
    clock: Callable[[], float]
    tell: Tell
    watch: Watch


@dataclass(slots=True)
class Now:
    """What this call knows of the subject as it stands; the log holds the rest."""

    todo: list[int]
    files: dict[int, dict[str, Path]] = field(default_factory=dict)
    measured: dict[int, list[Measured]] = field(default_factory=dict)
    lost: dict[tuple[str, int], str] = field(default_factory=dict)
    told_apart: bool = False
    spread: Spread | None = None
    accuracy: Accuracy | None = None
    sorted: Sorted | None = None
    waits: list[tuple[Ending, str]] = field(default_factory=list)
    trays: list[Tray] = field(default_factory=list)


def improve(
    config: Config,
    *,
    run_dir: str | Path,
    page: Page,
    now: datetime.datetime,
    registry_of: Callable[[], Registry] = registries.load,
    clock: Callable[[], float] = time.monotonic,
    tell: Tell = lambda text: None,
    watch: Watch = nullcontext,
) -> Improved:
    """Run the loop in its folder until it ends or has to wait; raises UsageError before it begins.

    `page` makes request.md of a change request. `now` dates what goes to calibration, `clock`
    counts seconds, `tell` is told of each step in words, and `watch` looks on at each evaluation.
    """
    folder = Path(run_dir)
    with held(folder, "loop's folder", "name another loop with improve.id=NAME"):
        setup = Setup.of(config, folder, registry_of)
        around = Around(page, now.isoformat("T", "seconds"), registry_of, clock, tell, watch)
        return _Loop(setup, around).carry_on()


class _Loop:
    def __init__(self, setup: Setup, around: Around) -> None:
        self.setup, self.around, self.tell = setup, around, around.tell
        self.config, self.own, self.folder = setup.config, setup.config.improve, setup.folder
        self.steps = read_steps(self.folder)
        self.past: Past = past(self.steps)
        self.began, self.before = around.clock(), self.past.elapsed_s
        self.now = Now([])

    def carry_on(self) -> Improved:
        """Do what there is to do until the loop ends or waits."""
        self._begin()
        # The open request is of the subject as it was measured; nothing runs before its answer.
        ending = self._ask() if self.past.open else None
        if ending is None:
            ending = self._recalled()
        while ending is None:
            decision = decide(self._observed(), self.setup.bounds)
            ending = decision.why
            match decision.move:
                case "repeat":
                    ending = self._repeat(self.now.todo.pop(0))
                case "tell-apart":
                    ending = self._tell_apart()
                case "measure":
                    assert self.now.spread is not None
                    self.now.accuracy = Accuracy(self.now.spread)
                    self._score()
                case "request":
                    ending = self._ask()
        return self._end(ending)

    def _begin(self) -> None:
        plan, mark = self.setup.plan, self.setup.mark(self.config.subject.version)
        if self.past.plan is None:
            self._note(Step(step="began", swing=1, elapsed_s=0, plan=plan, subject=mark))
        elif self.past.plan != plan:
            raise ConfigError(
                f"{self.folder} holds a loop of other cases, another suite or other settings: "
                "go on with those, or begin another one with improve.id=NAME"
            )
        elif mark.files != self.past.mark.files and not self.past.open:
            self.tell("the subject's files have changed: it is measured anew")
            self._note(self._step("changed", subject=self._named(mark)))
        if self.own.repeats == 1:
            self.tell("improve.repeats=1 measures no variance: accuracy is that of one run a case")
        self._anew()

    def _recalled(self) -> Ending | None:
        """Read what an earlier call measured, whatever the bounds are."""
        ending = None
        for repeat in sorted(self.past.settled):
            self.now.todo.remove(repeat)
            ending = self._repeat(repeat)
        return ending

    def _anew(self) -> None:
        self.now = Now(list(range(1, self.own.repeats + 1)))

    def _observed(self) -> Observed:
        now = self.now
        return Observed(
            rounds=tuple(delta for _, delta in self.past.rounds),
            elapsed_s=self._elapsed(),
            spread=now.spread,
            accuracy=now.accuracy,
            told_apart=now.told_apart,
            askable=len(now.sorted.failing) if now.sorted else 0,
            rejected=frozenset(put.target for put in self.past.rejected),
        )

    def _repeat(self, repeat: int) -> Ending | None:
        """Run and evaluate one repeat; after the last one there is a spread, or a wait."""
        now, swing = self.now, self._swing()
        fresh = self._run(swing, repeat)
        now.files[repeat] = dict(fresh.files)
        if fresh.waiting:
            now.waits.append(("traces", fresh.told))
        else:
            lost = {**fresh.lost, **self._judged(repeat, fresh.files)}
            now.lost |= {(case, repeat): why for case, why in lost.items()}
            self.tell(self._told(repeat, len(lost)))
        return None if now.todo else self._spread()

    def _judged(self, repeat: int, files: Mapping[str, Path]) -> dict[str, str]:
        """Evaluate the traces of a repeat unless that is done; return what has no answer and why.

        Nothing is noted while traces wait for dispatched answers.
        """
        run_dir, known = self._swing() / f"repeat-{repeat}", repeat in self.past.settled
        lost: dict[str, str] = {}
        if files:
            if not known and self._evaluate(self._configured(repeat), run_dir):
                return {}
            found = measured(run_dir, repeat, files)
            self.now.measured[repeat] = [found]
            lost = dict(found.lost)
        if not known:
            settled = not lost and len(files) == len(self.setup.cases)
            self._note(self._step("evaluated", repeat=repeat, settled=settled))
        return lost

    def _run(self, swing: Path, repeat: int) -> Fresh:
        traces, aside = swing / "traces" / f"repeat-{repeat}", swing / "aside"
        traces.mkdir(parents=True, exist_ok=True)
        aside.mkdir(exist_ok=True)
        return self.setup.subject.run(
            self.setup.cases,
            SubjectContext(
                config=self.own,
                swing=self.past.swing,
                repeat=repeat,
                folder=traces,
                aside=aside,
                format=self.config.subject.format,
            ),
        )

    def _evaluate(self, config: Config, run_dir: Path) -> int:
        """Evaluate; return how many traces wait for dispatched answers."""
        done = evaluated(config, run_dir, self.around.registry_of, self.around.watch)
        if done.broken:
            raise HelixError(f"{run_dir}: an internal error kept {done.broken} traces from a line")
        if done.pending:
            self.now.trays += done.trays
            self.now.waits.append(("verdicts", f"answer the questions of {run_dir}"))
        return done.pending

    def _spread(self) -> Ending | None:
        """Take the answers of all repeats together; score them where nothing is left to tell."""
        now = self.now
        if now.waits:
            return now.waits[0][0]
        parts = [part for found in now.measured.values() for part in found]
        now.spread = Spread.of(
            [case.id for case in self.setup.cases],
            [answer for part in parts for answer in part.answers],
            self.own.repeats,
            Fraction(str(self.own.max_variance)),
            frozenset().union(*(part.rows for part in parts)),
        )
        now.sorted, now.accuracy = sort(now.spread), None
        if not now.spread.passed and (now.told_apart or not now.spread.unclear):
            self._score()
        return None

    def _tell_apart(self) -> Ending | None:
        """Judge the traces of unclear cells again, to see whether it is the judge that varies."""
        now, swing = self.now, self._swing()
        assert now.spread is not None
        unclear = {(a.run, a.trace) for cell in now.spread.unclear for a in cell.answers}
        for repeat in sorted({run for run, _ in unclear}):
            run_dir = swing / f"again-{repeat}"
            traces = sorted(trace for run, trace in unclear if run == repeat)
            config = again(self._configured(repeat), traces, self.own.repeats)
            self.tell(f"traces of repeat {repeat} that are judged again: {len(traces)}")
            if not self._evaluate(config, run_dir):
                files = {c: f for c, f in now.files[repeat].items() if (c, repeat) not in now.lost}
                now.measured[repeat].append(measured(run_dir, repeat, files))
        now.told_apart = True
        if not now.waits:
            self._note(self._step("told-apart"))
        return self._spread()

    def _score(self) -> None:
        """Write down what the swing came to, and hand over what nobody can be asked to amend."""
        now = self.now
        assert now.spread is not None and now.sorted is not None
        lost = [Lost(case=c, repeat=r, reason=w) for (c, r), w in sorted(now.lost.items())]
        score = scored(now.spread, now.accuracy, now.sorted, lost, self.setup.bounds.target)
        if score == self.past.score:
            return
        self._note(self._step("scored", score=score))
        runs = [RunFiles(self._swing() / f"repeat-{repeat}") for repeat in sorted(now.measured)]
        loop = digest([self.past.plan, self.own.id, self.past.swing])
        cells = now.sorted.calibration
        if criteria := hand_over(self.config.paths.state, cells, runs, loop, self.around.at):
            self._note(self._step("calibrated", criteria=criteria))

    def _ask(self) -> Ending | None:
        """Put a change request, or take the response to the one that is open."""
        number = len(self.past.put) + (not self.past.open)
        folder = self._swing() / f"request-{number}"
        where, answer = folder / "request.json", folder / "response.json"
        if not self.past.open:
            folder.mkdir(parents=True, exist_ok=True)
            answer.unlink(missing_ok=True)
            self._put(self._composed(number, answer), where)
        request = self.past.put[-1].id
        if not where.is_file():
            raise ArtifactError(f"{where} must hold {request}, which waits for an answer: {_LEAVE}")
        try:
            data = self.setup.respond(EngineerContext(self.own, where, answer))
        except ProgramError as error:
            raise HelixError(f"improve.engineer: {error}; type the command again") from None
        if not folder.is_dir():
            raise ArtifactError(f"{folder} must stay while {request} is answered: {_LEAVE}")
        if data is None:
            self.now.waits.append(("response", f"{folder / 'request.md'} says what is asked"))
            return "response"
        response = read_response(data, request, answer)
        if not answer.exists():
            atomic_write(answer, data)
        note, decision = response.note, response.decision
        if decision == "rejected":
            self._note(self._step("answered", request=request, decision=decision, note=note))
            return None
        mark = self.setup.mark(response.subject_version)
        if why := unchanged(self.past.mark, mark):
            self.tell(f"{request}: {why}; that is no amendment, and nothing is measured again")
            self._note(self._step("unchanged", request=request, note=why))
            return None
        mark = self._named(mark)
        amended: dict[str, Any] = {"request": request, "decision": decision, "note": note}
        self._note(self._step("answered", subject=mark, **amended))
        self._anew()
        return None

    def _composed(self, number: int, answer: Path) -> ChangeRequest:
        assert self.now.sorted is not None
        return compose(
            number=number,
            swing=self.past.swing,
            subject=self.config.subject.name,
            mark=self.past.mark,
            files=self.own.subject_files,
            failing=self.now.sorted.failing,
            statements=self.setup.statements,
            rejected=[
                Rejected(request=put.id, remedy_target=put.target, note=put.note or "")
                for put in self.past.rejected
            ],
            answer=str(answer),
        )

    def _put(self, request: ChangeRequest, where: Path) -> None:
        data = request.model_dump_json(by_alias=True, indent=2).encode() + b"\n"
        atomic_write(where.with_suffix(".md"), self.around.page(request).encode())
        atomic_write(where, data)
        cases = len({case.case for case in request.failing_cases})
        target = request.remedy_target
        self._note(self._step("requested", request=request.id, target=target, cases=cases))
        self.tell(f"{request.id}, to change the {target}: {where}")

    def _end(self, ending: Ending) -> Improved:
        code = EXITS.get(ending, ExitCode.FAIL)
        ended = self.past.ended
        if ended is None or ended.why != ending:
            self._note(self._step("ended", why=ending, exit=int(code)))
        record = improvement(self.own.id, self.steps)
        atomic_write(self.folder / RECORD, encode_page(record))
        told = tuple(dict.fromkeys(text for _, text in self.now.waits))
        return Improved(record, code, told, tuple(self.now.trays))

    def _configured(self, repeat: int) -> Config:
        return configured(self.config, self.now.files[repeat], repeat, self.past.mark.version)

    def _told(self, repeat: int, lost: int) -> str:
        head, total = f"swing {self.past.swing}, repeat {repeat} of", len(self.setup.cases)
        measured = repeat in self.now.measured or lost == total
        answered = f"{total - lost} of {total} cases have all answers"
        return f"{head} {self.own.repeats}: {answered if measured else 'waits for answers'}"

    def _swing(self) -> Path:
        return self.folder / f"swing-{self.past.swing}"

    def _elapsed(self) -> float:
        return round(self.before + self.around.clock() - self.began, 3)

    def _step(self, name: Any, **facts: Any) -> Step:
        return Step(step=name, swing=self.past.swing, elapsed_s=self._elapsed(), **facts)

    def _note(self, step: Step) -> None:
        if self.steps and not (self.folder / SWINGS).is_file():
            raise ArtifactError(f"{self.folder / SWINGS} must stay while the loop runs: {_LEAVE}")
        append(self.folder, step)
        self.steps.append(step)
        self.past = replace(after(self.past, step), elapsed_s=step.elapsed_s)

    def _named(self, mark: SubjectMark) -> SubjectMark:
        """Return the mark with the version that was known before, where it names none."""
        return SubjectMark(files=mark.files, version=mark.version or self.past.mark.version)
