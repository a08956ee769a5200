"""`helix validate` on the demo, against the generator's exact labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helix.demo import generate
from tests.reports.pages import Page

COUNT = """\
import json, sys
from collections import Counter
labels = {(l["trace"], l["criterion"]): l["label"] for l in map(json.loads, open(sys.argv[1]))}
counts = Counter()
for line in map(json.loads, open(sys.argv[2])):
    for criterion, said in line["denseMap"].items():
        counts[labels.get((line["trajectoryId"], criterion)), said] += 1
print(json.dumps([[people, said, n] for (people, said), n in counts.items() if people]))
"""


def helix(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "helix", "validate", *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's labels, of which the raters got one in nine wrong, and a run by them."""
    made = tmp_path_factory.mktemp("validate")
    wrong = {"pass": "fail", "fail": "pass"}
    with open(made / "labels.jsonl", "w", encoding="utf-8") as file:
        cells = (
            (trace["id"], row, {"uncertain": "cannot-decide"}.get(state, state))
            for trace in generate()
            for row, state in trace["labels"]["expected"].items()
            if state != "na"
        )
        for at, (trace, row, label) in enumerate(cells):
            label = wrong.get(label, label) if at % 9 == 0 else label
            record = {"trace": trace, "criterion": row, "label": label, "rater": "ann"}
            file.write(json.dumps(record) + "\n")
    return made


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    return helix(
        folder,
        "experiment=demo",
        "validation.labels=labels.jsonl",
        "validation.split=all",
        "hydra.run.dir=run",
    )


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run/validation.json").read_text("utf-8"))
    return found


def test_the_confusion_is_what_a_plain_script_counts(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    assert done.returncode == 0, done.stderr
    script = [sys.executable, "-c", COUNT, "labels.jsonl", "run/verdicts.jsonl"]
    plain = subprocess.run(script, cwd=folder, capture_output=True, encoding="utf-8", check=True)
    counts = Counter({(people, said): n for people, said, n in json.loads(plain.stdout)})
    overall = written(folder)["overall"]
    assert overall["confusion"] == {
        "passPass": counts["pass", "pass"],
        "passFail": counts["pass", "fail"],
        "failPass": counts["fail", "pass"],
        "failFail": counts["fail", "fail"],
    }
    assert counts["pass", "fail"] > 0 < counts["fail", "pass"]
    decided = {"pass", "fail"}
    over = sum(
        n for (people, said), n in counts.items() if people in decided and said not in decided
    )
    under = sum(
        n for (people, said), n in counts.items() if people == "cannot-decide" and said in decided
    )
    assert (overall["abstained"]["over"], overall["abstained"]["under"]) == (over, under)


def test_the_text_fits_eighty_columns_and_names_the_files(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert f"Written: {Path('run') / 'validation.json'}" in done.stdout
    for word in ("TPR", "Abstentions", "Pass rate", "Best of the next labels", "false-pass"):
        assert word in done.stdout


def test_every_disagreement_links_to_its_cell_in_the_report(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    page = (folder / "run/report.html").read_text("utf-8")
    lines = (folder / "run/disagreements.jsonl").read_text("utf-8").splitlines()
    assert lines
    for line in map(json.loads, lines):
        name, _, anchor = line["link"].partition("#")
        assert name == "report.html"
        _, _, cell = page.partition(f'id="{anchor}"')
        assert cell.startswith(f' data-criterion="{line["criterionId"]}"')
        trace = anchor.partition("-")[0]
        assert f'id="{trace}" data-trace="{line["trace"]}"' in page


def test_the_page_says_at_once_what_people_said_and_how_often_the_judge_is_right(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    page = Page((folder / "run/report.html").read_text("utf-8"))
    lines = (folder / "run/disagreements.jsonl").read_text("utf-8").splitlines()
    apart = [json.loads(line) for line in lines]
    said = {
        (trace.attributes["data-trace"], cell.attributes["data-criterion"]): label.text.split()[2]
        for label in page.all("p", "label")
        if (trace := label.inside("traj")) and (cell := label.inside("cell"))
    }
    assert said == {(one["trace"], one["criterionId"]): one["human"] for one in apart}
    (table,) = page.all("table", "rates")
    rows = (row for row in page.all("tr") if table in row.above)
    cells = ([cell.text for cell in page.all() if cell.above[-1:] == (row,)] for row in rows)
    shown = {name: rates for name, *rates, labels in cells if labels.endswith("this run")}
    measured = {
        row["criterionId"]: [row["measured"]["tpr"], row["measured"]["tnr"]]
        for row in written(folder)["criteria"]
        if row["class"] != "code"
    }
    assert len(shown) == 6 < len(measured)
    for name, rates in shown.items():
        for told, of in zip(rates, measured[name], strict=True):
            assert told.startswith(f"{of['k']}/{of['n']}" if of["n"] else "undefined")


def test_a_run_is_measured_without_traces_or_suite(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    again = helix(
        folder, "validation.labels=labels.jsonl", "validation.run=run", "hydra.run.dir=again"
    )
    assert again.returncode == 0, again.stderr
    assert "split dev" in again.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["validation.split=all"], "validation.force=true"),
        (["validation.labels=none.jsonl"], "none.jsonl"),
        (["validation.run=nowhere"], "validation.run: nowhere must be the folder"),
        (["validate.labels=labels.jsonl"], "did you mean 'validation.labels'"),
        (["validation.width=2"], "validation.width"),
    ],
)
def test_what_cannot_be_done_exits_2(
    folder: Path, done: subprocess.CompletedProcess[str], words: list[str], told: str
) -> None:
    labels = ["validation.labels=labels.jsonl", "validation.run=run", *words]
    refused = helix(folder, *labels, "hydra.run.dir=refused")
    assert refused.returncode == 2
    assert told in refused.stderr
    assert refused.stdout == ""
    assert not (folder / "refused").exists()
