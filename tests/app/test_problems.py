"""Whatever is typed wrong ends in one message that says what, where and what to type; exit 2."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix.app import keys
from helix.app.cli import main

GIVEN = ["subject.traces=x.jsonl", "criteria.file=x.yaml"]
STAYS = "must stay as it is"

TABLE = {
    "a typo in a key": (
        ["judge.temprature=0.2"],
        ["unknown key 'judge.temprature'", "did you mean 'judge.temperature'?"],
    ),
    "a key without its section": (["temperature=0"], ["did you mean 'judge.temperature'?"]),
    "a typo in a section": (["jugde.model=x"], ["did you mean 'judge.model'?"]),
    "a typo in a group": (["jugde=replay"], ["did you mean 'judge'?"]),
    "a key added with plus": (["+judge.temprature=1"], ["did you mean 'judge.temperature'?"]),
    "several typos": (["a.b=1", "limits.retry=2"], ["2 problems", "'a.b'", "'limits.retries'"]),
    "a wrong choice": (
        ["judge=repaly"],
        ["judge must be one of ", "none, replay, scripted", "'repaly'", "did you mean 'replay'?"],
    ),
    "a file for a group": (
        ["criteria=s2.yaml", "subject=runs.jsonl"],
        ["did you mean criteria.file=s2.yaml?"],
    ),
    "an unknown experiment": (["experiment=dmo"], ["experiment must be one of", "'demo'?"]),
    "a word for a whole number": (
        ["limits.concurrency=many"],
        ["limits.concurrency must be a whole number (got 'many')"],
    ),
    "a word for a number": (
        ["judge.temperature=warm"],
        ["judge.temperature must be a number (got 'warm')"],
    ),
    "a number that is none": (["judge.temperature=nan"], ["must be a finite number (got nan)"]),
    "a number out of bounds": (["limits.concurrency=0"], ["must be at least 1 (got 0)"]),
    "a word for a truth value": (["run.dry=maybe"], ["must be true or false (got 'maybe')"]),
    "a word that is no choice": (
        ["gate.policy=strct"],
        ["gate.policy must be one of 'strict', 'rate' (got 'strct')"],
    ),
    "no date": (["gate.today=tomorrow"], ["must be a date, YYYY-MM-DD (got 'tomorrow')"]),
    "several wrong types": (
        ["limits.concurrency=x", "run.dry=x", "judge.seed=1.5"],
        ["3 problems", "limits.concurrency must", "run.dry must", "judge.seed must"],
    ),
    "a waiver without a name": (
        ["gate.waivers=[{criterion:A}]"],
        ["gate.waivers.0 must have by", "gate.waivers.0 must have expires"],
    ),
    "a judge that is not asked at temperature 0": (
        ["judge.temperature=0.7"],
        ["judge.temperature must be 0 (got 0.7)"],
    ),
    "a verifier that would be the judge's again": (
        ["judge.seed=7", "verifier.seed=null", "verifier.max_tokens=null"],
        [
            "verifier.seed cannot be set to its default under verifier=same",
            "(judge.seed=7): name the verifier's own backend, verifier=dispatch",
        ],
    ),
    "a condition that is named again": (
        ["audit.vary=[order,locale,order]", "audit.pythons=[python3,python3]"],
        [
            "audit.vary must be a list that names each once (got ['order',",
            "audit.pythons must be a",
        ],
    ),
    "a word without a key": (["suite.yaml"], ["'suite.yaml' must be KEY=VALUE"]),
    "a value that Hydra cannot read": (["limits.concurrency=("], ["cannot be read as KEY=VALUE"]),
    "a sweep without -m": (["sampling.seed=1,2"], ["sampling.seed takes one value", "type -m"]),
    "an interpolation of nothing": (["subject.name=${no.such}"], ["'no.such' not found"]),
    "a group set to null": (["judge=null"], ["the configuration cannot be composed"]),
    "a folder that is none": (["--config-dir", "nowhere"], ["config folder nowhere does not"]),
    "an unknown option": (["--wat"], ["unrecognized arguments: --wat"]),
    "an option of other commands": (["--suite", "s.yaml"], ["type subject.traces=PATH for"]),
    "the run directory under its other name": (["run.dir=x"], ["type hydra.run.dir=x"]),
    "a job of a sweep": (["-m", "sampling.seed=1,x"], ["job 1", "sampling.seed=x", "whole number"]),
    "jobs of a sweep in one folder": (
        ["-m", "sampling.seed=1,2", "hydra.sweep.subdir=same"],
        ["hydra.sweep.subdir must differ between jobs"],
    ),
    "a sweep over nothing": (["-m", "subject.name=glob(x*)"], ["the sweep has no jobs"]),
    "an interpolation in a sweep": (["-m", "subject.name=${no.such}"], ["'no.such' not found"]),
    "standard input in a sweep": (
        ["-m", "sampling.seed=1,2", "subject.traces=-"],
        ["standard input can be read once"],
    ),
    "a pickled run": (["--experimental-rerun", "x"], ["--experimental-rerun is refused"]),
    "another primary config": (["--config-name", "x"], ["--config-name is refused"]),
    "a callback": (["+hydra.callbacks.x._target_=os.system"], [f"hydra.callbacks {STAYS}"]),
    "job logging": (["hydra/job_logging=default"], [f"hydra.job_logging {STAYS}"]),
    "Hydra's logging": (["hydra/hydra_logging=default"], [f"hydra.hydra_logging {STAYS}"]),
    "an environment": (["+hydra.job.env_set.PATH=x"], [f"hydra.job.env_set {STAYS}"]),
    "a copied environment": (["hydra.job.env_copy=[PATH]"], [f"hydra.job.env_copy {STAYS}"]),
    "another folder to work in": (["hydra.job.chdir=true"], [f"hydra.job.chdir {STAYS}"]),
    "Hydra's own output": (["hydra.output_subdir=.hydra"], [f"hydra.output_subdir {STAYS}"]),
    "Hydra's mode": (["hydra.mode=MULTIRUN"], [f"hydra.mode {STAYS}"]),
    "a launcher that is not installed": (
        ["hydra/launcher=nope"],
        ["hydra/launcher must be one of"],
    ),
    "a launcher that is another class": (
        ["hydra.launcher._target_=os.system"],
        ["hydra/launcher must be one of basic, joblib"],
    ),
    "a sweeper that is another class": (
        ["-m", "hydra.sweeper._target_=os.system"],
        ["hydra/sweeper must be basic"],
    ),
    "code in the configuration": (
        ["+judge.extra.a.b._target_=os.system"],
        ["judge.extra.a.b._target_ is refused"],
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must end in exit 2 with nothing on standard output; return its message."""
    code = main(["evaluate", *words])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert captured.err.startswith("helix: ")
    assert captured.err.count("helix: ") == 1
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("case", TABLE)
def test_one_message_says_what_is_wrong(
    case: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, expected = TABLE[case]
    text = said([*GIVEN, *words], capsys)
    assert [part for part in expected if part not in text] == []
    assert list(here.iterdir()) == []


def test_what_is_missing_is_said_with_what_to_type(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said([], capsys)
    assert "subject.traces is missing: type subject.traces=PATH" in text
    assert "criteria.file is missing: type criteria.file=SUITE.yaml" in text


def test_a_file_without_a_key_is_told_its_key(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs.jsonl").write_text("", encoding="utf-8")
    text = said(["runs.jsonl", "criteria.file=x"], capsys)
    assert "'runs.jsonl' has no key: type subject.traces=runs.jsonl" in text
    (here / "suite.yaml").write_text("", encoding="utf-8")
    assert "type criteria.file=suite.yaml" in said(["suite.yaml", "subject.traces=x"], capsys)


FILES = {
    "a typo": ("judge: {temprature: 0}", ["unknown key 'judge.temprature'", "experiment=mine"]),
    "a number for text": ("judge: {model: 1e3}", ["judge.model must be text (in YAML, in quotes)"]),
    "two types at once": ("subject: {traces: 5}", ["must be text (in YAML, in quotes) or a list"]),
    "no YAML": ("judge: [", ["cannot be composed", "mine.yaml"]),
    "code": ("judge: {extra: {_target_: os.system}}", ["judge.extra._target_ is refused"]),
    "a callback": ("hydra: {callbacks: {x: {_target_: os.system}}}", [f"hydra.callbacks {STAYS}"]),
    "an environment": ("hydra: {job: {env_set: {A: b}}}", [f"hydra.job.env_set {STAYS}"]),
    "logging": (
        "hydra: {job_logging: {handlers: {x: {(): os.system}}}}",
        [f"hydra.job_logging {STAYS}"],
    ),
    "a launcher": ("hydra: {launcher: {_target_: os.system}}", ["hydra/launcher must be one of"]),
    "a callback in one job": (
        "hydra: {callbacks: {x: {_target_: os.system}}}",
        [f"hydra.callbacks {STAYS}"],
    ),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("sweep", [False, True])
def test_a_configuration_file_is_held_to_the_same(
    case: str, sweep: bool, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, expected = FILES[case]
    folder = here / "conf" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(f"# @package _global_\n{text}\n", encoding="utf-8")
    words = ["-m", "experiment=demo,mine"] if sweep else ["experiment=mine"]
    found = said([*words, "--config-dir", "conf", *GIVEN[1:]], capsys)
    wanted = ["job 1", *expected] if sweep else expected
    assert [part for part in wanted if part not in found] == []
    assert [path.name for path in here.iterdir()] == ["conf"]


def test_words_come_in_any_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["-m", *GIVEN, "sampling.seed=x,1"],
        [*GIVEN, "-m", "sampling.seed=x,1"],
        [*GIVEN, "sampling.seed=x,1", "--multirun"],
    ):
        assert "job 0" in said(words, capsys)


def test_the_overrides_of_the_cases_that_are_usage_errors_are(
    shared: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared / "cases" / "gate_stats_cache" / "G08-cache-key-and-overrides.json"
    variants = json.loads(path.read_text(encoding="utf-8"))["input"]["variants"]
    wrong = [variant for variant in variants if variant["expected"] == "usage error"]
    assert len(wrong) == 3
    for variant in wrong:
        assert variant.get("hint", "judge.temperature") in said(
            [*GIVEN, *variant["overrides"]], capsys
        )


VALUES = [
    *("1", "x", "null", "[1,2]", "{a:1}", "[", "{", "a,b", "'x'", "", "${x}", "${", "???", "[[1]]"),
    *("1e400", "0x1", "é", "\\", "$", "choice(1,2)", "range(1,3)", "int(3)", "[null]", "\n", "\0"),
    *("${oc.env:HOME}", "${helix_package:x}", "@", "~", "=", "{a:{b:[1]}}", "[{criterion:a}]"),
]
KEYS = [*keys.names(), "judge", "gate", "experiment", "hydra", "hydra.run.dir", "hydra.launcher"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    words=st.lists(
        st.builds(
            "{}{}{}{}".format,
            st.sampled_from(["", "", "+", "++", "~"]),
            st.sampled_from(KEYS),
            st.sampled_from(["=", "=", "=", "", "@x="]),
            st.sampled_from(VALUES),
        ),
        min_size=1,
        max_size=3,
    ),
    flags=st.sampled_from([["--cfg", "job"], ["-m"], []]),
)
def test_nothing_that_can_be_typed_is_a_crash(
    here: Path, words: list[str], flags: list[str]
) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["evaluate", "subject.traces=/no/such", "criteria.file=/no", *words, *flags])
    assert code in (0, 2), err.getvalue()
