"""Shards merge into the run that they are shares of, byte for byte, or say what is to be typed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helix
from helix.app.cli import main
from helix.audit.masking import COMPARED, masked
from helix.demo.generator import write
from helix.errors import ArtifactError
from helix.gate import FoldPlan, GateRow, Known, Policy, Trusted
from helix.gate.frozen import as_data, from_data
from helix.merge import merge
from helix.model.scorecard import JudgeRecord, Ratio
from helix.runs import RunFiles
from helix.stats import Share
from tests.test_evaluate import SCRIPT, SCRIPTED, SUITE

GATING = SUITE.replace("severity: MED", "severity: HIGH")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's traces, a suite whose judged row gates, and a scripted judge."""
    write(tmp_path / "traces.jsonl")
    (tmp_path / "suite.yaml").write_text(GATING, encoding="utf-8")
    (tmp_path / "judge.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path


def evaluated(run_dir: str, index: int = 0, count: int = 1, **sections: Any) -> str:
    shard = {"index": index, "count": count}
    given = {"judge": SCRIPTED, "paths": {"state": f"state-{run_dir}"}, **sections}
    helix.evaluate("traces.jsonl", "suite.yaml", run_dir=run_dir, shard=shard, **given)
    return run_dir


def shards(count: int, **sections: Any) -> list[str]:
    return [evaluated(f"s{at}of{count}", at, count, **sections) for at in range(count)]


def compared(run: str | Path) -> dict[str, bytes]:
    return {name: masked(name, (Path(run) / name).read_bytes()) for name in COMPARED}


@pytest.mark.parametrize(
    ("count", "sections"),
    [
        (2, {}),
        (3, {"sampling": {"replicates": 2}}),
        (8, {"sampling": {"strategy": "random", "n": 5, "seed": 3}}),
        (2, {"gate": {"policy": "rate", "rate": {"target": "9/10", "confidence": 0.9},
                      "per_task": {"k": 1, "n": 1}}}),
    ],
    ids=["two", "three with repeats", "eight of which some are empty", "by rate"],
)  # fmt: skip
def test_merged_shards_are_the_run_without_shards(
    here: Path, count: int, sections: dict[str, Any]
) -> None:
    whole = evaluated("whole", **sections)
    parts = shards(count, **sections)
    if count == 8:
        assert any(not (here / part / "verdicts.jsonl").read_bytes() for part in parts)
    done = merge(list(reversed(parts)), "merged")
    assert compared("merged") == compared(whole)
    sums = [RunFiles(Path(part)).scorecard().usage for part in parts]
    assert done.scorecard.usage.calls == sum(one.calls for one in sums)
    assert done.scorecard.usage.prompt_tokens is None, "not recorded is not 0"
    meta = [json.loads((here / run / "runmeta.json").read_text()) for run in (whole, "merged")]
    assert meta[0]["exitCode"] == meta[1]["exitCode"] == done.exit_code
    assert meta[1]["shards"] == parts


@pytest.mark.slow
def test_the_command_makes_one_run_of_a_sweep_over_shards(here: Path) -> None:
    words = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted",
             "judge.model=scripted-1", "judge.script=judge.py", "gate.exit=advisory"]  # fmt: skip
    swept = helix_command("evaluate", "-m", *words, "shard.index=range(0,3)", "shard.count=3",
                          "hydra.sweep.dir=sweep")  # fmt: skip
    assert swept.returncode == 0, swept.stderr
    assert helix_command("evaluate", *words, "hydra.run.dir=whole").returncode == 0
    done = helix_command("report", "merge", "sweep/0", "sweep/1", "sweep/2", "--out", "merged")
    assert done.returncode == 0, done.stderr
    assert "3 shards" in done.stdout and "helix report merged" in done.stdout
    assert compared("merged") == compared("whole")
    shown = helix_command("report", "merged")
    assert shown.returncode == 0 and "shard." not in shown.stdout, shown.stderr
    card = helix_command("report", "merge", "sweep/0", "sweep/1", "sweep/2", "--out", "m", "--json")
    assert json.loads(card.stdout) == json.loads((here / "m" / "scorecard.json").read_text())


def helix_command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "helix", *words],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_exit_code_is_that_of_the_whole_gate(here: Path) -> None:
    (here / "suite.yaml").write_text(SUITE[: SUITE.index("  - criterion_id: polite")])
    parts = shards(2, judge="none")
    whole = json.loads((Path(evaluated("whole", judge="none")) / "runmeta.json").read_text())
    assert main(["report", "merge", *parts, "--out", "merged"]) == whole["exitCode"]


def test_a_shard_that_is_missing_is_named_with_the_command_to_type(here: Path) -> None:
    parts = shards(3)
    meta = here / parts[0] / "runmeta.json"
    told = json.loads(meta.read_text())
    command = "helix evaluate subject.traces=traces.jsonl shard.index=0 shard.count=3"
    meta.write_text(json.dumps({**told, "command": command}))
    with pytest.raises(ArtifactError) as wrong:
        merge([parts[0], parts[2]], "merged")
    assert "shard 1 of 3 is missing" in str(wrong.value)
    assert "helix evaluate subject.traces=traces.jsonl shard.index=1 shard.count=3" in str(
        wrong.value
    )
    assert not (here / "merged").exists()


def test_a_shard_that_waits_is_named_with_the_command_to_type(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge.model=m",
             "judge.identity=reader", "shard.count=2"]  # fmt: skip
    for at in range(2):
        assert main(["evaluate", *words, f"shard.index={at}", f"hydra.run.dir=w{at}"]) == 5
    capsys.readouterr()
    assert main(["report", "merge", "w0", "w1", "--out", "merged"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "shard 0 of 2 (w0) waits for answers" in err
    assert "shard.index=0" in err.splitlines()[-1]


def spoiled_manifest(run: Path) -> None:
    lines = (run / "manifest.jsonl").read_bytes().splitlines(keepends=True)
    (run / "manifest.jsonl").write_bytes(b"".join(lines[:-1]))


def swapped_lines(run: Path) -> None:
    lines = (run / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (run / "verdicts.jsonl").write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))


def strange_line(run: Path) -> None:
    with open(run / "decisions.jsonl", "ab") as file:
        file.write(b'{"trace": "nobody"}\n')


def endless_number(run: Path) -> None:
    first, *rest = (run / "manifest.jsonl").read_bytes().splitlines(keepends=True)
    entry = {**json.loads(first), "line": 2**64}
    text = json.dumps(entry).encode() + b"\n"
    (run / "manifest.jsonl").write_bytes(b"".join([text, *rest]))


def unfinished(run: Path) -> None:
    (run / "scorecard.json").unlink()


def without_gate(run: Path) -> None:
    plan = json.loads((run / "plan.json").read_text())
    (run / "plan.json").write_text(json.dumps({**plan, "fold": None}))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (spoiled_manifest, "must have read the traces that"),
        (swapped_lines, "verdicts.jsonl, line 2 is damaged: not in plan order"),
        (strange_line, "decisions.jsonl, line .* is damaged"),
        (endless_number, "manifest.jsonl, line 1 is damaged: .*line"),
        (unfinished, "shard 1 of 2 .* did not finish: type its command again"),
        (without_gate, "kept what its gate was told"),
    ],
)
def test_what_is_no_share_of_the_run_is_refused(here: Path, spoil: Any, told: str) -> None:
    parts = shards(2)
    spoil(here / parts[1])
    with pytest.raises(ArtifactError, match=told):
        merge(parts, "merged")
    assert not (here / "merged" / "scorecard.json").exists()


def test_shards_of_two_runs_two_counts_or_given_twice_are_refused(here: Path) -> None:
    two, three = shards(2), shards(3)
    other = evaluated("other", 1, 2, gate={"policy": "rate"})
    for folders, told in (
        ([two[0], other], "their plans differ"),
        ([two[0], three[1]], "must be one of 2 shards"),
        ([two[0], two[0]], "given twice"),
        ([two[0], str(here)], "must be the folder of a run"),
    ):
        with pytest.raises(ArtifactError, match=told):
            merge(folders, "merged")
    shutil.copytree(two[0], "full")
    with pytest.raises(ArtifactError, match="new or empty folder"):
        merge(two, "full")


NAMES = st.text(max_size=8)
NUMBERS = st.integers(0, 99) | st.fractions(0, 99) | st.floats(0, 99)
SHARES = st.none() | st.builds(Share, NUMBERS, NUMBERS)
TRUSTS = st.none() | st.builds(
    Trusted, st.sampled_from(["validated", "provisional", "rejected", "stale", "unvalidated"]),
    NAMES, SHARES, SHARES, st.none() | st.builds(Ratio, k=st.integers(0, 9), n=st.integers(0, 9)),
)  # fmt: skip
ROWS = st.builds(
    GateRow, NAMES, NAMES, NAMES, NAMES, st.booleans(), st.booleans(), st.none() | NAMES, TRUSTS
)
PLANS = st.builds(
    FoldPlan, NAMES, NAMES, st.lists(ROWS, max_size=3).map(tuple),
    st.builds(
        Policy, st.none() | st.fractions(0, 1), st.none() | st.floats(0.1, 0.9),
        st.none() | st.tuples(st.integers(1, 9), st.integers(1, 9)), st.booleans(), st.booleans(),
    ),
    st.builds(JudgeRecord, backend=NAMES, requested=st.dictionaries(NAMES, NAMES, max_size=2)),
    st.builds(JudgeRecord, backend=NAMES, requested=st.dictionaries(NAMES, NAMES, max_size=2)),
    st.dictionaries(NAMES, NAMES, max_size=2), st.integers(1, 9),
    st.builds(
        Known, st.frozensets(st.tuples(NAMES, st.none() | NAMES), max_size=4),
        st.none() | st.frozensets(st.tuples(NAMES, NAMES), max_size=4),
    ),
    NAMES, NAMES, st.lists(NAMES, max_size=3).map(tuple),
    st.lists(st.dictionaries(NAMES, NAMES | st.booleans(), max_size=2), max_size=2).map(tuple),
    st.none() | NAMES,
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=60)
@given(PLANS)
def test_what_the_gate_was_told_comes_back_from_json_as_it_was(plan: FoldPlan) -> None:
    text = json.dumps(as_data(plan), allow_nan=False)
    assert from_data(json.loads(text)) == plan


def test_a_rate_stays_exact() -> None:
    policy = Policy(rate=Fraction(1, 3))
    nobody = JudgeRecord(backend="none", requested={})
    plan = FoldPlan("s", "s", (), policy, nobody, nobody, {})
    assert as_data(plan)["policy"]["rate"] == "1/3"
    assert from_data(as_data(plan)).policy.rate == Fraction(1, 3)
    with pytest.raises(ArtifactError, match="what the gate was told cannot be read"):
        from_data({**as_data(plan), "rows": [{}]})
