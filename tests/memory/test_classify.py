"""The type of a fact by its words, and what is not kept at all."""

from __future__ import annotations

import pytest

from helix.memory import classify, refusal


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("The runbook is at https://desk.example.org/run", "reference"),
        ("See ticket OPS-12 for the outage list", "reference"),
        ("The dashboard shows the backlog", "reference"),
        ("Held-out cases are in cases/held.jsonl", "reference"),
        ("I am the lead of the refund desk", "user"),
        ("I prefer tables over prose", "user"),
        ("Stop surfacing style findings", "feedback"),
        ("The report is too verbose", "feedback"),
        ("Next time group findings by route", "feedback"),
        ("Never print whole prompts", "feedback"),
        ("A critique should name the step", "feedback"),
        ("We are migrating to the new booking service", "project"),
        ("Don't touch the payment route until it is signed off", "project"),
        ("The audit must pass before March", "project"),
        ("Rain falls in spring", None),
    ],
)
def test_the_first_rule_that_matches_gives_the_type(text: str, of: str | None) -> None:
    assert classify(text) == of


def test_what_is_outside_comes_before_who_one_is_and_that_before_the_tool() -> None:
    told = "I am tired, the report is too long, we are migrating"
    assert classify(f"{told}, see https://x.example.org") == "reference"
    assert classify(told) == "user"
    assert classify(told.partition(", ")[2]) == "feedback"


SECRETS = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "use sk-" + "a1" * 12,
    "ghp_" + "a1" * 15,
    "AKIA" + "ABCD" * 4,
    "the password is hunter22",
    "api_key=abcd1234",
    "https://ada:hunter22@example.org/x",
    "write to ada@example.org",
    "call +44 20 7946 0958",
]


@pytest.mark.parametrize("text", SECRETS)
def test_private_data_is_refused(text: str) -> None:
    assert "private data" in (refusal(f"I am told: {text}") or "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("trace t-17 loses the name", "a finding about the subject (trace t-17)"),
        ("criterion C-3 is noisy", "a finding about the subject (criterion C-3)"),
        ("yes-before-refund fires on holds", "a finding about the subject (yes-before-refund)"),
        ("this run was slow", "about one run (this run)"),
        ("see outputs/evaluate/x", "about one run (outputs/)"),
        ("judge.model=m-2", "the configuration says it (judge.model)"),
        ("it broke in commit 1a2b3c4", "git says it"),
        ("```\nx = 1\n```", "it holds code"),
        ("from helix import check", "it holds code"),
    ],
)
def test_what_stands_elsewhere_is_refused_with_the_reason(text: str, why: str) -> None:
    assert why in (refusal(text, known=["yes-before-refund", "polite"]) or "")


@pytest.mark.parametrize(
    "text",
    [
        "Be polite in reports",
        "From now on list failures first",
        "Releases are frozen from 2026-05-04 until 2026-06-30",
        "Tests that run slowly may be left out",
        "The data set of the desk has 1,200 cases",
        "No trace of it is left",
        "The board is at https://desk.example.org/d/12345678901",
    ],
)
def test_an_ordinary_fact_is_kept(text: str) -> None:
    assert refusal(text, known=["polite", "C-3"]) is None
