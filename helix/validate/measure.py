"""From cells to rates: confusion, TPR and TNR, abstentions, the corrected rate, what to label next.

Pure. Abstentions stay out of both rates and stand beside them (METHOD 60, 61).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from helix.model.scorecard import Ratio, Status
from helix.model.validation import (
    Abstained,
    Confusion,
    Corrected,
    Measured,
    Needed,
    Rate,
    Wanted,
)
from helix.stats import (
    Share,
    best_split,
    clip,
    clustered_share,
    cohen_kappa,
    jeffreys_interval,
    lang_reiczigel,
    needed_for_width,
    ppi_mean,
    rogan_gladen,
    shifted,
)
from helix.validate.cells import DECIDED, Cell

TARGET, MINIMUM = Fraction(9, 10), Fraction(8, 10)
FEWEST = 60


def measure(
    run: Sequence[Cell], labelled: Sequence[Cell], *, width: float, seed: int = 0
) -> Measured:
    """Return what `labelled` says of the judge, and the rate of `run` that follows from it."""
    compared = [cell for cell in labelled if cell.compared]
    table = _confusion(compared)
    passes = [cell for cell in compared if cell.human == "pass"]
    fails = [cell for cell in compared if cell.human == "fail"]
    tpr, tnr = share_of(passes, _right), share_of(fails, _right)
    right = table.pass_pass + table.fail_fail
    decided = [cell for cell in labelled if cell.human in DECIDED]
    words = [cell.human for cell in labelled]
    return Measured(
        labels={word: words.count(word) for word in ("pass", "fail", "cannot-decide")},
        confusion=table,
        tpr=rate_of(passes, _right),
        tnr=rate_of(fails, _right),
        accuracy=Ratio(k=right, n=len(compared)),
        kappa=cohen_kappa([[table.pass_pass, table.pass_fail], [table.fail_pass, table.fail_fail]]),
        coverage=Ratio(k=len(compared), n=len(decided)),
        abstained=_abstained(labelled),
        corrected=_corrected(run, labelled, tpr, tnr, seed),
        wanted=_wanted(run, tpr, tnr, len(passes), len(fails), width),
    )


def rate_of(cells: Sequence[Cell], good: Callable[[Cell], bool]) -> Rate:
    """Return how many cells are good, with intervals on the size that their clusters leave."""
    return _rate(sum(map(good, cells)), len(cells), share_of(cells, good))


def share_of(cells: Iterable[Cell], good: Callable[[Cell], bool]) -> Share:
    """Return the share of good cells, cut down to the size that their clusters leave."""
    clusters: dict[str, list[float]] = {}
    for cell in cells:
        clusters.setdefault(cell.cluster, []).append(float(good(cell)))
    return clustered_share(clusters)


def status_of(measured: Measured) -> tuple[Status, str]:
    """Return how a criterion stands, and why (METHOD 60, 62).

    rejected: an upper bound below 0.80. Otherwise, on at least 60 decided labels: validated: both
    points at least 0.90, both lower bounds at least 0.80; provisional: both points at least 0.80.
    Else unvalidated. Points compare exactly, bounds are those of the exact interval.
    """
    rates = {"TPR": measured.tpr, "TNR": measured.tnr}
    for name, rate in rates.items():
        if rate.exact is not None and rate.exact[1] < MINIMUM:
            return "rejected", f"{name} is below {float(MINIMUM):.2f} at 95 %"
    for name, rate in rates.items():
        if rate.n == 0:
            human = "pass" if name == "TPR" else "fail"
            return "unvalidated", f"no {human} label was compared, so {name} is undefined"
    n = measured.tpr.n + measured.tnr.n
    if n < FEWEST:
        return "unvalidated", f"fewer than {FEWEST} labels were compared"
    points = [Fraction(rate.k, rate.n) for rate in rates.values()]
    lower = [rate.exact[0] if rate.exact else 0.0 for rate in rates.values()]
    if min(points) >= TARGET and min(lower) >= MINIMUM:
        return "validated", "TPR and TNR reach 0.90, and 0.80 at 95 %"
    if min(points) >= MINIMUM:
        return "provisional", f"TPR and TNR reach 0.80 on {FEWEST} labels or more"
    return "unvalidated", "TPR or TNR is below 0.80"


def _confusion(compared: Iterable[Cell]) -> Confusion:
    pairs = [(cell.human, cell.state) for cell in compared]
    return Confusion(
        pass_pass=pairs.count(("pass", "pass")),
        pass_fail=pairs.count(("pass", "fail")),
        fail_pass=pairs.count(("fail", "pass")),
        fail_fail=pairs.count(("fail", "fail")),
    )


def _right(cell: Cell) -> bool:
    return cell.right


def _passed(cell: Cell) -> bool:
    return cell.state == "pass"


def _rate(k: int, n: int, share: Share) -> Rate:
    return Rate(
        k=k,
        n=n,
        effective=float(share.n),
        wilson=share.interval(method="wilson"),
        exact=share.interval(method="exact"),
    )


def _abstained(labelled: Iterable[Cell]) -> Abstained:
    cells = [(cell.human in DECIDED, cell) for cell in labelled]
    answered = [(people, cell.decided) for people, cell in cells if cell.adjudicated]
    return Abstained(
        over=answered.count((True, False)),
        under=answered.count((False, True)),
        agreed=answered.count((False, False)),
        not_adjudicated=len(cells) - len(answered),
    )


def _corrected(
    run: Sequence[Cell], labelled: Sequence[Cell], tpr: Share, tnr: Share, seed: int
) -> Corrected:
    counted = [cell for cell in run if cell.state != "na"]
    decided = [cell for cell in counted if cell.decided]
    passed = sum(cell.state == "pass" for cell in decided)
    seen = Ratio(k=passed, n=len(decided))
    if not decided or tpr.rate is None or tnr.rate is None:
        return Corrected(seen=seen)
    found = rogan_gladen(Fraction(passed, len(decided)), tpr.rate, tnr.rate)
    if found is None:
        return Corrected(seen=seen)
    share = share_of(decided, _passed)
    interval = lang_reiczigel(share, tpr, tnr)
    drawn = jeffreys_interval(share, tpr, tnr, seed=seed)
    ends = [
        rogan_gladen(Fraction(k, len(counted)), tpr.rate, tnr.rate)
        for k in (passed, passed + len(counted) - len(decided))
    ]
    used = {(cell.trace, cell.criterion) for cell in labelled}
    compared = [cell for cell in labelled if cell.compared]
    rest = [float(c.state == "pass") for c in decided if (c.trace, c.criterion) not in used]
    other = ppi_mean(
        [float(cell.human == "pass") for cell in compared],
        [float(cell.state == "pass") for cell in compared],
        rest,
    )
    return Corrected(
        seen=seen,
        raw=float(found.raw),
        value=float(found.value),
        clipped=found.clipped,
        interval=None if interval is None else clip(interval),
        jeffreys=None if drawn is None else clip(drawn),
        abstentions_fail=None if ends[0] is None else float(ends[0].value),
        abstentions_pass=None if ends[1] is None else float(ends[1].value),
        ppi=None if other is None else other.value,
        ppi_interval=None if other is None else clip(other.interval),
        # Of fewer, a normal interval is too narrow to accuse the sample of anything.
        shifted=shifted(found, interval, other) if len(rest) >= FEWEST else None,
    )


def _wanted(
    run: Sequence[Cell], tpr: Share, tnr: Share, passes: int, fails: int, width: float
) -> Wanted:
    """Return the labels to come; rates are drawn towards a half, so that 9 of 9 is no certainty.

    Without a label of each class no split is best: the other one has to come first.
    """
    likely = {name: _drawn(share) for name, share in (("tpr", tpr), ("tnr", tnr))}
    seen = _drawn(share_of([cell for cell in run if cell.decided], _passed))
    theta = rogan_gladen(seen, likely["tpr"], likely["tnr"])
    return Wanted(
        width=width,
        passes=_needed(likely["tpr"], passes, width),
        fails=_needed(likely["tnr"], fails, width),
        fails_share=best_split(theta.value, likely["tpr"], likely["tnr"])
        if theta is not None and passes and fails
        else None,
    )


def _drawn(share: Share) -> Fraction:
    return (Fraction(share.k) + 1) / (Fraction(share.n) + 2)


def _needed(rate: Fraction, have: int, width: float) -> Needed:
    return Needed(
        have=have,
        wilson=needed_for_width(float(rate), width),
        exact=needed_for_width(float(rate), width, method="exact"),
    )
