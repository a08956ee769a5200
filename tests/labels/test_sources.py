"""Labels from elsewhere: what each source's records become, and what is left out or refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helix.app.commands import labels as command
from helix.errors import ExitCode, LabelError, UnknownNameError, UsageError
from helix.labels import Label, load
from helix.labels.store import Store


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def imported(folder: Path, source: str, *words: Any, out: str = "out.jsonl") -> tuple[Label, ...]:
    """Return what `helix labels import` leaves in its file."""
    file = folder / out
    assert command.run(["import", source, *map(str, words), "--out", str(file)]) == ExitCode.PASS
    return load(file)


def said(labels: tuple[Label, ...]) -> list[tuple[str, str, str, str]]:
    return [(label.trace, label.criterion, label.label, label.rater) for label in labels]


def test_a_table_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    table = write(
        tmp_path / "t.csv",
        "\ufeffTrace_ID,criterion,Human,comment,annotator,when,region\r\n"
        't1,goal, Pass ,"said ""yes"", then\nleft",ada,2026-01-02T03:04:05Z,north\r\n'
        "\r\n"
        "t2,goal,cannot decide,,ben,,south\r\n",
    )
    first, second = imported(tmp_path, "csv", table)
    assert first == Label(
        trace="t1", criterion="goal", label="pass", note='said "yes", then\nleft', rater="ada",
        when="2026-01-02T03:04:05Z",
    )  # fmt: skip
    assert (second.label, second.note, second.when) == ("cannot-decide", None, None)


def test_a_table_about_one_criterion_is_mapped_to_it(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "trace,label\nt1,good\nt2,bad\n")
    words = ("--map", "label=goal", "--value", "good=pass", "--value", "bad=fail", "--rater", "ada")
    assert said(imported(tmp_path, "csv", table, *words)) == [
        ("t1", "goal", "pass", "ada"),
        ("t2", "goal", "fail", "ada"),
    ]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("trace,verdict\nt1,pass\n", "a column must be the label (label, human, human_label); got"),
        ("", "a column must be the trace (trace, trace_id, traceid); got none"),
        ("trace,trace_id,label\n", "two columns are the trace: trace, trace_id"),
        ('trace,label\nt1,"pass\n', "line 2: is no CSV (unexpected end of data)"),
        ("trace,label\nt1,pass\n", "row 2: no rater is recorded: say whose label it is with"),
        ("trace,label,rater\nt1,,ada\n", "row 2: t1 has no label (label holds nothing)"),
        ("trace,label,rater\nt1,ok,ada\n", "row 2: label must be pass, fail or cannot-decide (got "
         "'ok'); say what it means with --value 'ok=LABEL'"),
        ("trace,label,rater\nt1,pass,ada\nt1,pass,ada\n", "row 3: t1, label is labelled twice by "),
        ("trace,label,rater\nt1,pass,ada\nt1,fail,ada\n", "differently: fail here, pass in row 2"),
    ],
)  # fmt: skip
def test_a_table_with_a_fault_is_told_the_row_and_nothing_is_written(
    table: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(LabelError) as raised:
        imported(tmp_path, "csv", write(tmp_path / "t.csv", table))
    assert told in str(raised.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_word_that_means_nothing_yet_is_told_once_and_counted(tmp_path: Path) -> None:
    rows = "".join(f"t{n},meh,ada\n" for n in range(60))
    with pytest.raises(LabelError) as raised:
        imported(tmp_path, "csv", write(tmp_path / "t.csv", "trace,label,rater\n" + rows))
    assert str(raised.value).count("\n") == 0
    assert "row 2: " in str(raised.value) and "(got 'meh', and in 59 more)" in str(raised.value)


def test_the_dirty_file_of_the_shared_case_is_told_all_that_is_wrong(
    shared: Path, tmp_path: Path
) -> None:
    case = json.loads(
        (shared / "cases/gate_stats_cache/G10-judge-validation-labels.json").read_text("utf-8")
    )
    table = tmp_path / "dirty.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, ["trace_id", "human"])
        rows.writeheader()
        rows.writerows(case["input"]["variants"][2]["rows"])
    known = [{"schemaVersion": "1.0", "id": row["trace_id"], "output": {"response": "."}}
             for row in case["input"]["labels"]]  # fmt: skip
    traces = write(tmp_path / "traces.jsonl", "\n".join(map(json.dumps, known)))
    words = ("--rater", "people", "--map", "human=goal", "--traces", traces)
    with pytest.raises(LabelError) as raised:
        imported(tmp_path, "csv", table, *words)
    told = str(raised.value)
    assert told.startswith("3 problems in the labels:")
    assert "row 3: v01, goal is labelled twice by people, and differently: fail here, pass" in told
    assert "row 4: unknown trace 'zz'" in told
    assert "row 5: v02 has no label (human holds nothing)" in told


SCORES = [
    {"name": "polite", "value": 1, "dataType": "BOOLEAN", "stringValue": "True",
     "source": "ANNOTATION", "traceId": "t1", "authorUserId": "u1", "comment": "kind",
     "timestamp": "2026-01-01T00:00:00.000Z"},
    {"name": "polite", "value": 0, "dataType": "BOOLEAN", "stringValue": "False",
     "source": "ANNOTATION", "traceId": "t2", "authorUserId": "u1", "comment": None},
    {"name": "outcome", "value": 2, "dataType": "CATEGORICAL", "stringValue": "Partly right",
     "source": "ANNOTATION", "traceId": "t1", "authorUserId": None},
    {"name": "polite", "value": 0.8, "dataType": "NUMERIC", "source": "EVAL", "traceId": "t3"},
    {"name": "polite", "value": 1, "dataType": "NUMERIC", "source": "API", "traceId": "t4"},
    {"name": "session", "value": 1, "dataType": "BOOLEAN", "source": "ANNOTATION", "traceId": None},
]  # fmt: skip
MEANING = (
    "--value",
    "polite:true=pass",
    "--value",
    "polite:false=fail",
    "--value",
    "partly-right=fail",
)


@pytest.mark.parametrize(
    "shape",
    [
        SCORES,
        {"data": SCORES, "meta": {"page": 1}},
        {"scores": SCORES},
        {"id": "t9", "scores": SCORES, "observations": []},
        {"trace": {"id": "t9", "scores": SCORES}, "observations": []},
        "\n".join(map(json.dumps, SCORES)),
    ],
    ids=["list", "page", "scores", "trace", "envelope", "lines"],
)
def test_langfuse_scores_that_people_gave_are_taken_in_every_shape(
    shape: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(shape, dict) and ("trace" in shape or "id" in shape):
        # Here a score without a trace is the trace's own.
        shape = json.loads(json.dumps(shape).replace('"traceId": null', '"traceId": ""'))
    file = write(tmp_path / "scores.json", shape)
    found = imported(tmp_path, "langfuse", file, *MEANING, "--rater", "someone")
    assert said(found) == [
        ("t1", "outcome", "fail", "someone"),
        ("t1", "polite", "pass", "u1"),
        ("t2", "polite", "fail", "u1"),
    ]
    assert (found[1].note, found[1].when) == ("kind", "2026-01-01T00:00:00.000Z")
    told = capsys.readouterr().out
    assert "left out: 1 label given by EVAL, not by a person" in told
    assert "left out: 1 label given by API, not by a person" in told
    assert "left out: 1 label about no trace" in told


def test_a_boolean_score_means_nothing_until_somebody_says_what(tmp_path: Path) -> None:
    file = write(tmp_path / "scores.json", SCORES[:2])
    with pytest.raises(
        LabelError, match=r"polite must be pass, fail or cannot-decide \(got True\)"
    ):
        imported(tmp_path, "langfuse", file)


def test_what_a_program_sent_is_taken_where_it_is_said_to_be_peoples(tmp_path: Path) -> None:
    file = write(tmp_path / "scores.json", SCORES)
    words = (*MEANING, "--value", "polite:1=pass", "--include", "API", "--rater", "someone")
    assert ("t4", "polite", "pass", "someone") in said(imported(tmp_path, "langfuse", file, *words))


def test_langsmith_feedback_is_taken_by_its_key(tmp_path: Path) -> None:
    feedback = [
        {"id": "f1", "run_id": "r1", "trace_id": "t1", "key": "goal", "score": 1.0, "value": None,
         "comment": "done", "created_at": "2026-01-01T00:00:00", "modified_at": None,
         "feedback_source": {"type": "app", "user_id": "u1"}},
        {"id": "f2", "run_id": "t2", "trace_id": None, "key": "goal", "score": None,
         "value": "Fail", "feedback_source": {"type": "app", "user_id": "u2"}},
        {"id": "f3", "run_id": "t3", "key": "goal", "score": 0, "value": None,
         "feedback_source": {"type": "model"}},
    ]  # fmt: skip
    file = write(tmp_path / "feedback.jsonl", "\n".join(map(json.dumps, feedback)))
    found = imported(tmp_path, "langsmith", file, "--value", "1=pass", "--value", "0=fail")
    assert said(found) == [("t1", "goal", "pass", "u1"), ("t2", "goal", "fail", "u2")]
    assert (found[0].note, found[0].when) == ("done", "2026-01-01T00:00:00")


def test_label_files_are_brought_together_and_conflicts_between_them_told(tmp_path: Path) -> None:
    line = {"trace": "t1", "criterion": "c", "label": "pass", "rater": "ada"}
    one = write(tmp_path / "one.jsonl", line)
    two = write(tmp_path / "two.jsonl", {**line, "rater": "ben", "label": "fail"})
    assert len(imported(tmp_path, "helix", one, two)) == 2
    assert len(imported(tmp_path, "helix", one)) == 2
    against = write(tmp_path / "three.jsonl", {**line, "label": "fail"})
    before = (tmp_path / "out.jsonl").read_bytes()
    with pytest.raises(LabelError, match=r"three\.jsonl, row 1: .*fail here, pass in .*out\.jsonl"):
        imported(tmp_path, "helix", against)
    assert (tmp_path / "out.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--map", "goal"], "--map must be KEY=CRITERION (got 'goal')"),
        (["--map", "a*b*=c"], "--map takes one * in KEY"),
        (["--map", "a=*"], "--map takes one * in KEY, and one in CRITERION for it"),
        (["--value", "1=good"], "VALUE=LABEL with pass, fail, cannot-decide or skip as LABEL"),
        (["--known-only"], "--known-only needs --traces PATH"),
    ],
)  # fmt: skip
def test_a_rule_that_is_none_is_refused(words: list[str], told: str, tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "trace,label,rater\nt1,pass,ada\n")
    with pytest.raises(UsageError) as raised:
        imported(tmp_path, "csv", table, *words)
    assert told in str(raised.value)


def test_an_unknown_source_is_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown label source 'langfus'; did you mean"):
        imported(tmp_path, "langfus", "x")


def test_several_keys_that_say_one_thing_make_one_label(tmp_path: Path) -> None:
    table = write(
        tmp_path / "t.csv",
        "trace,criterion,label,note,rater\nt1,a,fail,one,ada\nt1,b,fail,two,ada\nt2,b,pass,,ada\n",
    )
    words = ("--map", "a=both", "--map", "b=both")
    first, second = imported(tmp_path, "csv", table, *words)
    assert (first.label, first.note, second.label) == ("fail", "one\ntwo", "pass")


def test_the_demos_exact_labels_come_by_rule_and_join(tmp_path: Path) -> None:
    demo = "demo:outreach"
    found = imported(
        tmp_path, "traces", demo, "--rater", "generator", "--suite", demo, "--traces", demo
    )
    from helix.demo.generator import generate

    expected = [
        (record["id"], row, {"uncertain": "cannot-decide"}.get(state, state))
        for record in generate()
        for row, state in record["labels"]["expected"].items()
        if state != "na"
    ]
    assert sorted((label.trace, label.criterion, label.label) for label in found) == sorted(
        expected
    )


def test_the_human_annotation_of_agentrx_joins_its_runs(shared: Path, tmp_path: Path) -> None:
    folder = shared / "traces/agentrx_tau_retail"
    annotated = json.loads((folder / "labels_tau_ground_truth.json").read_text("utf-8"))
    traces = ("--traces", folder / "task*.json", "--rater", "agentrx")
    file = folder / "labels_tau_ground_truth.json"
    words = (
        "--map",
        "failure=task-done",
        "--map",
        "agent.Assistant=agent-right",
        "--absent",
        "pass",
    )
    found = imported(tmp_path, "agentrx", file, *traces, *words)
    by_agent = {
        str(run["trajectory_id"]): any(f["failed_agent"] == "Assistant" for f in run["failures"])
        for run in annotated
    }
    assert len(by_agent) == 11
    assert {label.trace: label.label for label in found if label.criterion == "agent-right"} == {
        trace: "fail" if wrong else "pass" for trace, wrong in by_agent.items()
    }
    assert Counter(label.label for label in found if label.criterion == "task-done") == {"fail": 11}
    note = next(x.note for x in found if (x.trace, x.criterion) == ("12", "agent-right"))
    assert note is not None and note.startswith("step 19: ")
    with pytest.raises(LabelError, match="no label was taken; say with --map KEY=CRITERION"):
        imported(tmp_path, "agentrx", file, *traces, out="other.jsonl")


def test_labels_inside_other_traces_come_by_the_users_rule(shared: Path, tmp_path: Path) -> None:
    rules = {
        "trajectory_judge_generated/trajectories_seed7.jsonl": (
            ("label.faulty=no-fault", "false=pass", "true=fail"), {"pass": 21, "fail": 60}),
        "who_and_when": (("is_correct*=answered", "true=pass", "false=fail"), {"fail": 13}),
        "tau_bench_airline_gpt4o": (("reward=done", "1=pass", "0=fail"), {"pass": 7, "fail": 8}),
    }  # fmt: skip
    for path, ((rule, *values), counts) in rules.items():
        words = [word for value in values for word in ("--value", value)]
        found = imported(
            tmp_path, "traces", shared / "traces" / path, "--map", rule, *words,
            "--rater", "source", out=f"{len(path)}.jsonl",
        )  # fmt: skip
        assert Counter(label.label for label in found) == counts, path


def test_scores_of_models_in_real_langfuse_exports_are_no_labels(
    shared: Path, tmp_path: Path
) -> None:
    files = sorted((shared / "traces/langfuse_exports").glob("*/*.json"))
    with pytest.raises(LabelError, match="left out: 24 given by EVAL, not by a person"):
        imported(tmp_path, "langfuse", *files)


def test_what_a_file_holds_cannot_act_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"trace": "t\x1b[2J", "criterion": "c\u202e", "label": "\x07", "rater": "ada"}
    file = str(write(tmp_path / "l.jsonl", line))
    assert command.run(["check", file]) == ExitCode.FAIL
    with pytest.raises(LabelError) as raised:
        command.run(["agreement", file])
    write(tmp_path / "l.jsonl", {**line, "label": "pass"})
    assert command.run(["check", file]) == ExitCode.PASS
    told = str(raised.value) + "".join(capsys.readouterr())
    assert "c\\u202e" in told and not set(told) & set("\x1b\u202e\x07")


def test_a_row_with_more_fields_than_columns_is_no_label_cut_short(tmp_path: Path) -> None:
    text = "trace,label,rater,note\nt1,pass,ada,fine\nt2,pass,ada,kind, but late\n"
    with pytest.raises(LabelError, match="row 3: has 5 fields under 4 columns"):
        imported(tmp_path, "csv", write(tmp_path / "l.csv", text))
    assert not (tmp_path / "out.jsonl").exists()
    trailing = text.replace("fine", "fine,,").replace("kind, but late", '"kind, but late",')
    found = imported(tmp_path, "csv", write(tmp_path / "l.csv", trailing))
    assert [label.note for label in found] == ["fine", "kind, but late"]


def test_nothing_is_brought_into_a_file_that_somebody_labels_in(tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "trace,label,rater\nt1,pass,ben\n")
    out = tmp_path / "ada.jsonl"
    store = Store(out, "ada")
    with pytest.raises(LabelError, match="is being labelled in"):
        command.run(["import", "csv", str(table), "--out", str(out)])
    assert out.read_bytes() == b""
    store.close()
    assert command.run(["import", "csv", str(table), "--out", str(out)]) == ExitCode.PASS


def test_check_and_agreement_print_json_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"trace": f"t{n}", "criterion": "c", "label": word, "rater": rater}
        for n, pair in enumerate([("pass", "pass"), ("pass", "fail"), ("fail", "fail")])
        for rater, word in zip(("ada", "ben"), pair, strict=True)
    ]
    file = str(write(tmp_path / "l.jsonl", "\n".join(map(json.dumps, rows))))
    assert command.run(["check", file, "--json"]) == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    counts = {"c": {"pass": 3, "fail": 3, "cannot-decide": 0}}
    assert told == {"labels": 6, "criteria": counts, "problems": []}
    assert command.run(["agreement", file, "--json"]) == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    assert (told["agreement"][0]["agreed"], told["agreement"][0]["cells"]) == (2, 3)
    assert told["agreement"][0]["cohenKappa"] == pytest.approx(0.4)
    assert told["disputed"] == [{"trace": "t1", "criterion": "c"}]
    ruled = write(tmp_path / "r.jsonl", {**rows[2], "label": "fail", "rater": "chair"})
    assert command.run(["agreement", file, "--adjudicated", str(ruled)]) == ExitCode.PASS
    out = capsys.readouterr().out
    assert "3 cells settled, 1 of them by adjudication; 0 disputed" in out
    bad = write(tmp_path / "bad.jsonl", {**rows[0], "label": "?"})
    assert command.run(["check", str(bad)]) == ExitCode.FAIL
    assert "error: " in capsys.readouterr().out


def test_problems_come_in_the_order_of_rows_and_sums_fit_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"trace": "t1", "criterion": "c", "label": "pass", "rater": "ada"}
    twice = write(tmp_path / "l.jsonl", "\n".join(map(json.dumps, [row, row, {**row, "label": 1}])))
    assert command.run(["check", str(twice)]) == ExitCode.FAIL
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error")]
    assert ["row 2" in told[0], "row 3" in told[1], len(told)] == [True, True, 2]
    scores = [{"name": f"a-long-name-of-a-score-{n}", "value": n, "traceId": "t"} for n in range(9)]
    mine = {"name": "mine", "value": "pass", "traceId": "t", "authorUserId": "ada"}
    given = [{**score, "source": "ANNOTATION"} for score in (*scores, mine)]
    export, out = write(tmp_path / "scores.json", json.dumps(given)), str(tmp_path / "out.jsonl")
    argv = ["import", "langfuse", str(export), "--out", out, "--map", "mine=c"]
    assert command.run(argv) == ExitCode.PASS
    told = capsys.readouterr().out.replace(out, "out.jsonl").splitlines()
    assert any(line.startswith("not mapped: 9 values") for line in told)
    assert max(map(len, told)) <= 80
