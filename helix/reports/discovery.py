"""The composer of the discovery report: one frozen value that every renderer projects (METHOD 85).

What it shows was recorded by the discovery; nothing is judged anew, and nothing is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from helix.discover.fixtures import Fixture
from helix.discover.proposing import Labelled
from helix.discover.saturation import Curve
from helix.judging.packet import agent_steps
from helix.model.criterion import Criterion
from helix.model.discovery import Category, Detection, Determination, DiscoveryRecord, MinedRow
from helix.model.manifest import LoadFailure, Manifest, ManifestEntry
from helix.model.preference import Preference
from helix.model.splits import PARTS, split_of
from helix.model.subject import SubjectRecord
from helix.model.trace import Trace
from helix.model.verdict import MACHINERY_CAUSES, Ref
from helix.reports.placed import placed
from helix.reports.run import MAX_STEPS, RunMeta
from helix.reports.summary import warned
from helix.reports.trajectory import StepView, Target, lay_out
from helix.reports.words import WORST_FIRST, Standing, next_action
from helix.stats import Interval, Share

_NOTHING = RunMeta()
READ_IT = "name a judge, so that somebody reads it"


@dataclass(frozen=True, slots=True)
class SeenView:
    """One detection of a trace, where it stands on the page, and whether a kind counts it."""

    anchor: str
    detection: Detection
    counted: bool


@dataclass(frozen=True, slots=True)
class ReadView:
    """One trace: what it was determined to be, what was detected, its steps, or why there are none.

    `targets` says where in the steps each ref stands.
    """

    index: int
    determination: Determination
    standing: Standing
    seen: tuple[SeenView, ...]
    file: str | None = None
    route: str | None = None
    steps: tuple[StepView, ...] = ()
    targets: Mapping[Ref, Target] = field(default_factory=dict)
    hidden: str | None = None

    @property
    def id(self) -> str:
        """The trace's own id."""
        return self.determination.trace_id

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Everything that was cited of the trace, each place once."""
        own = self.determination.refs
        return tuple(dict.fromkeys((*own, *(r for s in self.seen for r in s.detection.refs))))

    @property
    def undecided(self) -> tuple[str, str] | None:
        """Why nobody decided it, and what would; None where somebody did."""
        one = self.determination
        if one.verdict != "uncertain":
            return None
        reason = one.blocked_by.text if one.blocked_by else (one.critique or one.outcome or "")
        if one.cause == "unread" and one.determined_by is None:
            return reason, READ_IT
        return reason, next_action(one.cause, one.blocked_by.kind if one.blocked_by else None)


@dataclass(frozen=True, slots=True)
class KindView:
    """One kind of failure: what it is, who shows it, the criterion that is proposed for it.

    `row` is None where it is to be mended and not to be checked, or where the check of another
    kind is its check too.
    """

    index: int
    category: Category
    folded: bool
    seen: tuple[tuple[ReadView, SeenView], ...]
    row: MinedRow | None = None
    criterion: Criterion | None = None
    fixture: Fixture | None = None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of how often it is shown."""
        return Share(self.category.k, self.category.n).interval()


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the coverage funnel: how many traces it holds, and what became of the rest."""

    name: str
    n: int
    told: str


@dataclass(frozen=True)
class DiscoveryReport:
    """Everything that is known of a discovery; renderers project it and add nothing.

    `splits` holds for each split how many examined traces it has, and how many of them fail.
    `folder` is where all the traces' files stand; `after` are the lines that say what to type next.
    """

    record: DiscoveryRecord
    reads: tuple[ReadView, ...]
    kinds: tuple[KindView, ...]
    splits: tuple[tuple[str, int, int], ...]
    curve: Curve | None
    subject: SubjectRecord | None
    preferences: tuple[Preference, ...]
    unread: tuple[LoadFailure, ...]
    folder: str
    after: tuple[str, ...]
    meta: RunMeta

    @cached_property
    def by_id(self) -> dict[str, ReadView]:
        """The traces by id."""
        return {read.id: read for read in self.reads}

    @property
    def shown(self) -> int:
        """How many trajectories are shown with their steps."""
        return sum(1 for read in self.reads if read.steps)

    @property
    def worst_first(self) -> list[ReadView]:
        """The trajectories, the worst first."""
        return sorted(self.reads, key=_worst)

    def standing(self, standing: Standing) -> int:
        """Return how many trajectories stand so."""
        return sum(1 for read in self.reads if read.standing == standing)

    def to(self, route: str) -> list[KindView]:
        """Return the kinds that go one way: `eval`, `fix` or `infrastructure`."""
        return [kind for kind in self.kinds if kind.category.fix_or_eval == route]

    @property
    def grounded(self) -> Share:
        """Of all that is cited, how much stands where it is said to."""
        refs = [ref for read in self.reads for ref in read.refs]
        return Share(sum(ref.match not in (None, "dead") for ref in refs), len(refs))

    @property
    def warned(self) -> list[tuple[str, list[str]]]:
        """Each kind of warning and the traces that it was given of."""
        return warned((read.id, read.determination.warnings) for read in self.reads)

    @cached_property
    def funnel(self) -> tuple[Stage, ...]:
        """How many of the traces got how far."""
        triage = self.record.triage
        failing = {read.id for read in self.reads if read.standing == "fail"}
        listed = _showing(self.kinds) & failing
        checked = [k for k in self.kinds if k.row is not None]
        observed = [k for k in checked if k.row and k.row.grounding == "observed"]
        seen, held = _showing(checked) & failing, _showing(observed) & failing
        undecided = triage.examined - triage.fail - triage.passed
        sampling = self.record.sampling.get("strategy", "not recorded")
        return (
            Stage("found", triage.found, f"{triage.unreadable:,} more could not be read"),
            Stage("sampled", triage.sampled, f"sampling {sampling}"),
            Stage("examined", triage.examined, f"{triage.cut_off:,} cut off and set aside"),
            Stage("decided", triage.fail + triage.passed, f"{undecided:,} undecided"),
            Stage("failing", len(failing), f"{triage.passed:,} pass"),
            Stage("in a kind", len(listed), f"{len(failing - listed):,} fail in no listed kind"),
            Stage("with a criterion", len(seen), f"{len(held):,} with an observed one"),
        )


def compose(
    record: DiscoveryRecord,
    determinations: Iterable[Determination],
    traces: Mapping[str, Trace],
    *,
    suite: Sequence[Criterion] = (),
    fixtures: Iterable[Fixture] = (),
    curve: Curve | None = None,
    manifest: Iterable[ManifestEntry] = (),
    unread: Sequence[LoadFailure] = (),
    subject: SubjectRecord | None = None,
    preferences: Sequence[Preference] = (),
    seed: int = 0,
    after: Sequence[str] = (),
    meta: RunMeta = _NOTHING,
) -> DiscoveryReport:
    """Return the report of a discovery.

    `traces` are those to show with their steps; `seed` is the one that splits are drawn by.
    """
    determinations, manifest = tuple(determinations), Manifest(manifest)
    folder, below = placed(manifest)
    routes = {entry.id: entry.route for entry in manifest}
    views = [
        replace(_read(at, one), file=below.get(one.trace_id), route=routes.get(one.trace_id))
        for at, one in enumerate(determinations)
    ]
    reads = _with_steps(views, traces)
    criteria = {row.criterion_id: row for row in suite}
    aside = {fixture.criterion_id: fixture for fixture in fixtures}
    rows = {row.category: row for row in record.criteria}
    named = [(c, False) for c in record.categories] + [(c, True) for c in record.folded]
    labelled = Labelled({}, determinations)
    kinds = []
    for at, (category, folded) in enumerate(named):
        row = rows.get(category.name)
        name = "" if row is None else row.criterion_id
        seen = _seen(labelled.shown(category), reads)
        kinds.append(KindView(at, category, folded, seen, row, criteria.get(name), aside.get(name)))
    return DiscoveryReport(
        record=record,
        reads=reads,
        kinds=tuple(kinds),
        splits=_splits(reads, seed),
        curve=curve,
        subject=subject,
        preferences=tuple(preferences),
        unread=tuple(unread),
        folder=folder,
        after=tuple(after),
        meta=meta,
    )


def _read(index: int, one: Determination) -> ReadView:
    seen = tuple(
        SeenView(f"t{index}-c{at}", detection, _counts(one, detection))
        for at, detection in enumerate(one.detections, start=1)
    )
    return ReadView(index, one, _standing(one), seen)


def _counts(one: Determination, detection: Detection) -> bool:
    return detection.root and (one.verdict != "pass" or detection.route != "eval")


def _standing(one: Determination) -> Standing:
    """Return how a trace stands; one that nobody read, or could, is incomplete."""
    if one.verdict != "uncertain":
        return one.verdict
    nobody = one.determined_by is None or one.cause in MACHINERY_CAUSES
    return "incomplete" if nobody else "uncertain"


def _worst(read: ReadView) -> tuple[int, int, int]:
    counted = sum(seen.counted for seen in read.seen)
    return WORST_FIRST.index(read.standing), -counted, read.index


def _with_steps(views: list[ReadView], traces: Mapping[str, Trace]) -> tuple[ReadView, ...]:
    """Return the views with steps laid out, as many as the page holds, the worst first."""
    left = MAX_STEPS
    done = dict(enumerate(views))
    for view in sorted(views, key=_worst):
        trace = traces.get(view.id)
        if trace is None:
            cut = view.determination.cause == "truncated"
            text = "the trace was cut off and set aside" if cut else "its steps were not read"
            done[view.index] = replace(view, hidden=text)
            continue
        steps = len(trace.transcript) + len(trace.observations) + 3
        if steps > left:
            done[view.index] = replace(view, hidden="left out for the page's size")
            continue
        left -= steps
        done[view.index] = _laid_out(view, trace)
    return tuple(done.values())


def _laid_out(view: ReadView, trace: Trace) -> ReadView:
    if view.determination.trace_digest != trace.source.digest:
        return replace(view, hidden="the trace has changed since it was examined")
    numbers = {step.id: step.n for step in agent_steps(trace)}
    steps, targets = lay_out(trace, f"t{view.index}", view.refs, numbers)
    return replace(view, steps=steps, targets=targets)


def _seen(
    shown: Sequence[tuple[Determination, Detection]], reads: Sequence[ReadView]
) -> tuple[tuple[ReadView, SeenView], ...]:
    """Return each trace of a kind once, with the detection that counts first."""
    place = {(read.id, id(s.detection)): (read, s) for read in reads for s in read.seen}
    found: dict[str, tuple[ReadView, SeenView]] = {}
    for one, detection in shown:
        read, seen = place[one.trace_id, id(detection)]
        if read.id not in found or seen.counted > found[read.id][1].counted:
            found[read.id] = (read, seen)
    return tuple(found.values())


def _showing(kinds: Iterable[KindView]) -> set[str]:
    return {read.id for kind in kinds for read, _ in kind.seen}


def _splits(reads: Iterable[ReadView], seed: int) -> tuple[tuple[str, int, int], ...]:
    """Return each split with how many examined traces it holds and how many of them fail."""
    whole = [read for read in reads if read.determination.cause != "truncated"]
    held = Counter(split_of(read.id, seed) for read in whole)
    fails = Counter(split_of(read.id, seed) for read in whole if read.standing == "fail")
    return tuple((part, held[part], fails[part]) for part in PARTS)
