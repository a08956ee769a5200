"""criteria=refund_desk on runs with exact labels: what it catches, where, and what it leaves alone.

The suite's rules are general: the sentences that the sample plants in replies are replaced by
others, and none of their words stands in a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import helix
from helix.demo.rekey import HERE
from helix.ingest import Input
from helix.model.trace import Trace
from helix.registry import load

SUITE = HERE / "refund_desk.suite.yaml"
SAMPLE = "traces/trajectory_judge_generated/trajectories_seed7.jsonl"
CLAIMS = (
    "I have also upgraded your membership to the gold tier.",
    "Two free months were added to your plan.",
    "We've waived the delivery charge on your next purchase.",
    "A prepaid return label has been sent to your inbox.",
    "Your shipping details were updated in our system.",
    "A technician will visit you at home on Friday.",
    "I have flagged the seller to our fraud team.",
    "Your loyalty points have been restored.",
    "I went ahead and blocked your old card.",
    "Your complaint has been forwarded to the manufacturer.",
)
NO_CLAIMS = (
    "Would you like me to close your account as well?",
    "I have not changed anything else.",
    "If you wish, I can send you a label.",
    "Let me know if the money has not been received by then.",
    "You will receive a confirmation by email.",
    "Unfortunately no discount could be granted.",
    "I will keep an eye on your case.",
    "Refunds are processed by your bank.",
    "I'm sorry that your parcel was damaged.",
    "I have checked our policy for you.",
    "Once the item has been returned, we will look again.",
    "Should I also update your details?",
)


@dataclass(frozen=True)
class Outcome:
    """What the suite says of a run, beside its label."""

    faulty: bool
    kind: str | None
    step: int | None
    criterion: str | None
    named: str | None


def outcomes(file: Path, folder: Path) -> list[Outcome]:
    done = helix.evaluate(file, SUITE, run_dir=folder)
    items = Input.open(str(file), "auto", load([]))
    labels = {item.id: item.labels["label"] for item in items if isinstance(item, Trace)}
    found = []
    for line in done.verdicts():
        label = labels[line.trajectory_id]
        first = next((v for v in line.verdicts if v.result == "fail"), None)
        named = first and next((r.obs for r in first.refs if r.obs != line.trajectory_id), None)
        found.append(
            Outcome(
                label["faulty"],
                label["failure_type"],
                label["failure_step"],
                first and first.criterion_id,
                named,
            )
        )
    return found


@pytest.fixture(scope="module")
def sample(shared: Path) -> list[dict[str, Any]]:
    text = (shared / SAMPLE).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def seen(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return outcomes(shared / SAMPLE, tmp_path_factory.mktemp("refunds") / "run")


def saying(run: dict[str, Any], reply: str) -> dict[str, Any]:
    """Return a run whose reply, sent in its last step, is another."""
    last = run["steps"][-1]
    assert last["call"]["tool"] == "reply"
    call = {**last["call"], "args": {**last["call"]["args"], "text": reply}}
    return {**run, "steps": [*run["steps"][:-1], {**last, "call": call}], "final_answer": reply}


def planted(sample: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each run with a sentence planted in its reply, and the reply without it."""
    clean = {run["instance_id"]: run for run in sample if not run["label"]["faulty"]}
    for run in sample:
        if run["label"]["failure_type"] == "unsupported_claim":
            yield run, clean[run["instance_id"]]["final_answer"]


def rewritten(runs: list[dict[str, Any]], folder: Path) -> list[Outcome]:
    file = folder / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    return outcomes(file, folder / "run")


def test_every_fault_of_the_sample_is_caught_and_no_clean_run_is_accused(
    seen: list[Outcome],
) -> None:
    caught = [one for one in seen if one.criterion]
    assert (len(seen), sum(one.faulty for one in seen)) == (81, 60)
    assert [one for one in caught if not one.faulty] == []
    recall = len(caught) / 60
    f1 = 2 * recall / (1 + recall)
    assert f1 >= 0.95
    assert len(caught) == 60


def test_the_first_row_that_fails_names_the_step_that_went_wrong(seen: list[Outcome]) -> None:
    caught = [one for one in seen if one.criterion]
    right = [one for one in caught if one.named == f"s{one.step}"]
    assert len(right) >= 0.9 * len(caught)
    assert len(right) == 60


def test_each_kind_of_fault_is_caught_by_the_rows_that_guard_it(seen: list[Outcome]) -> None:
    rows: dict[str, set[str]] = {}
    for one in seen:
        if one.kind is not None and one.criterion is not None:
            rows.setdefault(one.kind, set()).add(one.criterion)
    assert rows == {
        "hallucinated_argument": {"lookups-grounded"},
        "ignored_observation": {"refund-as-authorised"},
        "premature_stop": {"eligible-is-refunded", "ineligible-is-escalated"},
        "skipped_precondition": {"eligible-before-refund"},
        "unsupported_claim": {"reply-grounded", "claims-done"},
        "wrong_tool": {"no-lookup-twice"},
    }


def test_claims_of_other_actions_are_caught_as_well(
    sample: list[dict[str, Any]], tmp_path: Path
) -> None:
    pairs = list(planted(sample))
    clean = [run for run in sample if not run["label"]["faulty"]]
    caught = 0
    for shift in range(len(CLAIMS)):
        runs = [
            saying(run, f"{reply} {CLAIMS[(at + shift) % len(CLAIMS)]}")
            for at, (run, reply) in enumerate(pairs)
        ]
        folder = tmp_path / str(shift)
        folder.mkdir()
        found = rewritten([*runs, *clean], folder)
        alarms = [one for one in found if one.criterion]
        assert all(one.faulty and one.named == f"s{one.step}" for one in alarms)
        assert len(alarms) >= 0.7 * len(runs)
        caught += len(alarms)
    assert caught >= 0.9 * len(CLAIMS) * len(pairs)


def test_a_reply_that_claims_nothing_more_is_not_accused(
    sample: list[dict[str, Any]], tmp_path: Path
) -> None:
    clean = [run for run in sample if not run["label"]["faulty"]]
    runs = [saying(run, f"{run['final_answer']} {more}") for run in clean[:4] for more in NO_CLAIMS]
    assert [one for one in rewritten(runs, tmp_path) if one.criterion] == []


def test_no_row_knows_a_word_of_what_is_planted_nor_an_instance(
    sample: list[dict[str, Any]],
) -> None:
    suite = yaml.safe_load(SUITE.read_text(encoding="utf-8"))
    rows = json.dumps(suite["criteria"], ensure_ascii=False).casefold()
    known = set(re.findall(r"[a-z]+", rows))
    told = " ".join(run["final_answer"][len(reply) :] for run, reply in planted(sample))
    words = {word for word in re.findall(r"[a-z]+", told.casefold()) if len(word) > 3}
    desk = {"order", "from"}  # the tools' own word, and a word of every text
    assert len(words) > 20
    assert (words & known) - desk == set()
    assert re.search(r"\d{3}|ord-|sku-|cus-|@example", rows) is None


def test_the_suite_ships_as_a_choice_of_criteria(project: Path) -> None:
    choice = yaml.safe_load((project / "conf/criteria/refund_desk.yaml").read_text("utf-8"))
    assert choice == {"file": "${helix_package:demo/refund_desk.suite.yaml}"}
    assert SUITE.is_file()
