"""How an answer is read on each axis (METHOD 38); one reader stands behind all of them."""

from __future__ import annotations

from typing import Any

from helix.judging.reply import Answer, Unusable, answer_of, object_of, read
from helix.model.request import Reply, Request

_OF_THE_ENTRY = ("criterionId", "critique", "refs")


def read_answer(request: Request, reply: Reply) -> Answer | Unusable:
    """Return what a judge's reply says of the rows of its request, or why it says nothing."""
    if request.unit.axis != "criterion":
        return read(reply, request.nonce, request.unit.criteria)
    found = object_of(reply, request.nonce)
    if isinstance(found, Unusable):
        return found
    if "verdicts" in found[0]:
        return Unusable("malformed", "answer with the one verdict itself, not with a list of them")
    return answer_of(_as_matrix(found[0]), found[1], request.unit.criteria)


def _as_matrix(value: dict[str, Any]) -> dict[str, Any]:
    """Return one verdict's object as the matrix of one row that it is."""
    matrix: dict[str, Any] = {"nonce": value.get("nonce"), "verdicts": [], "notApplicable": []}
    if "fidelity" in value:
        matrix["fidelity"] = value["fidelity"]
    if value.get("result") == "na":
        entry = {name: value[name] for name in _OF_THE_ENTRY if name in value}
        return {**matrix, "notApplicable": [entry]}
    return {**matrix, "verdicts": [value]}
