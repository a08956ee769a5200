"""Verdict lines as a run leaves them, built by hand."""

from __future__ import annotations

from typing import Any

from helix.model.verdict import BlockedBy, Fidelity, MatrixVerdictFile, Verdict


def verdict(criterion: str, word: str) -> Verdict:
    """Return a verdict: pass, fail, a kind of block, or a cause of the machinery."""
    more: dict[str, Any] = {}
    result = word
    if word in ("factual-intent", "normative", "scope"):
        result = "uncertain"
        more = {"blocked_by": BlockedBy(kind=word, text="it is open"), "cause": "leap"}
    elif word not in ("pass", "fail"):
        result, more = "uncertain", {"cause": word}
    return Verdict(criterion_id=criterion, critique="because", result=result, **more)


def line(trace: str, **words: str) -> MatrixVerdictFile:
    """Return the line of a trace from a word for each criterion."""
    verdicts = tuple(verdict(name, word) for name, word in words.items())
    return MatrixVerdictFile(
        trajectory_id=trace,
        fidelity=Fidelity(complete=True),
        verdicts=verdicts,
        dense_map={v.criterion_id: v.result for v in verdicts},
    )
