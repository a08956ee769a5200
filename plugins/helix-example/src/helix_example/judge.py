"""A judge that looks for words in what a run ended with: offline, and the same on every run.

`judge.extra.words` are the words that make a row pass. Raise `protocol` whenever other answers may
come: it is part of the key under which replies are kept.
"""

from __future__ import annotations

import json
import re
from typing import Any

from helix.errors import ConfigError
from helix.model.request import Reply, Request, Unavailable
from helix.registry import Judge, JudgeSettings

ENDED = re.compile(r"^## what it ended with\n\[(.+)\] (.+)\n {4}(.+)$", re.MULTILINE)
WALK = {
    "understanding": {"rephrase": "An agent that answers a request."},
    "expectedTrajectory": [{"expected": "The last words hold one of the words."}],
    "judgeSteps": [{"kind": "gather", "text": "Read what the run ended with."}],
    "fidelity": {"complete": True},
}


class WordJudge:
    """The backend: opened once for a run, it answers one request at a time."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    async def __aenter__(self) -> WordJudge:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def ask(self, request: Request) -> Reply:
        """Answer every row of a judge's question; nothing is verified or determined here."""
        unit = request.unit
        if unit.role != "judge" or unit.axis != "trajectory":
            raise Unavailable(f"this judge answers no {unit.role} on the axis {unit.axis}")
        found = ENDED.search(request.messages[1].content)
        verdicts = [self._verdict(criterion, found) for criterion in unit.criteria]
        said = {"nonce": request.nonce, **WALK, "verdicts": verdicts}
        text = json.dumps(said, ensure_ascii=False)
        return Reply(text, finish_reason="stop", returned_model=request.pin.model)

    def _verdict(self, criterion: str, found: re.Match[str] | None) -> dict[str, Any]:
        if found is None:
            return {
                "criterionId": criterion,
                "critique": "The run ended without words.",
                "result": "uncertain",
                "blockedBy": {"kind": "factual-intent", "text": "what the run ended with"},
            }
        obs, path, line = found.groups()
        heard = next((w for w in self._words if w.casefold() in line.casefold()), None)
        # A citation has at most 200 characters, and whole words.
        cited = line if len(line) <= 200 else line[:200].rsplit(" ", 1)[0]
        return {
            "criterionId": criterion,
            "critique": f"It says “{heard}”." if heard else "None of the words is there.",
            "claim": f"The run ended with: {cited}",
            "refs": [{"obs": obs, "path": path, "value": cited}],
            "bindings": [],
            "litmus": {"premise": ""},
            "result": "pass" if heard else "fail",
            "confidence": 1,
        }


def open_judge(settings: JudgeSettings) -> WordJudge:
    """Pass each row where the run ends with one of `judge.extra.words`, and fail it elsewhere.

    Opening it asks nobody; settings that it cannot work with are an error before anything is asked.
    """
    words = settings.config.extra.get("words")
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise ConfigError(f"judge.extra.words must be a list of words (got {words!r})")
    return WordJudge(tuple(words))


JUDGE = Judge("example", "1", protocol=1, open=open_judge)
