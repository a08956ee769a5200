"""A code change becomes one observation a hunk, with its file and lines, and nothing is lost."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_of import read_bytes, read_value

from helix.ingest.hunks import parts_of

LINES = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=6),
        st.sampled_from(
            ["-- x", "++ y", "--- a/z", "+++ b/z", "@@ -1 +1 @@", "diff --git a/b b/b"]
        ),
    ),
    max_size=12,
)
NAMES = ("@@ -", "diff -", "Index: ", "index ", "--- ", "+++ ", "=====")
CHANGE = """\
From 1 Mon Sep 17
Subject: what the change is for
---
diff --git a/desk.py b/desk.py
index 1..2 100644
--- a/desk.py
+++ b/desk.py
@@ -1,3 +1,4 @@ def greet(name):
 def greet(name):
-    return name
+    name = name.strip()
+    return f"hello {name}"

@@ -20 +21,0 @@
-STALE = True
diff --git a/old.txt b/new.txt
similarity index 100%
rename from old.txt
rename to new.txt
diff --git a/gone.txt b/gone.txt
--- a/gone.txt
+++ /dev/null
@@ -1,2 +0,0 @@
---- a/desk.py
-++ b/desk.py
"""


def change(diff: str = CHANGE, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "spec": "Greet politely.", "diff": diff, **fields}


def test_each_hunk_is_an_observation_with_its_file_and_lines(tmp_path: Path) -> None:
    trace = read_value(change(), tmp_path)
    assert trace.source.format == "code_change"
    found = [(o.id, o.type, o.name, o.input) for o in trace.observations]
    assert found == [
        ("hunk-1", "HUNK", "desk.py",
         {"file": "desk.py", "before": "1-3", "after": "1-4", "within": "def greet(name):"}),
        ("hunk-2", "HUNK", "desk.py", {"file": "desk.py", "before": "20", "after": "none"}),
        ("file-3", "FILE", "new.txt", {"file": "new.txt"}),
        ("hunk-4", "HUNK", "gone.txt", {"file": "gone.txt", "before": "1-2", "after": "none"}),
    ]  # fmt: skip
    assert "rename from old.txt" in trace.observations[2].output["text"]
    assert trace.observations[3].output == {"text": "---- a/desk.py\n-++ b/desk.py"}
    assert trace.output == {
        "files": ["desk.py", "new.txt", "gone.txt"], "added": 2, "removed": 4
    }  # fmt: skip
    assert trace.input == {"prompt": "Greet politely."}
    assert trace.raw["besides"].splitlines()[1] == "Subject: what the change is for"


def test_a_new_mode_beside_hunks_is_told(tmp_path: Path) -> None:
    diff = CHANGE.replace("index 1..2 100644", "old mode 100644\nnew mode 100755")
    trace = read_value(change(diff), tmp_path)
    assert (trace.observations[0].id, trace.observations[0].name) == ("file-1", "desk.py")
    assert "new mode 100755" in trace.observations[0].output["text"]
    assert trace.observations[1].id == "hunk-2"


def test_the_diagnosis_is_part_of_what_was_asked(tmp_path: Path) -> None:
    trace = read_value(change(diagnosis="It never greets."), tmp_path)
    assert trace.input["diagnosis"] == "It never greets."
    assert "diagnosis" not in read_value(change(diagnosis=None), tmp_path).input


def test_changes_are_read_a_line_each(tmp_path: Path) -> None:
    lines = [json.dumps(change(id=f"c{n}")).encode() for n in range(3)]
    traces, failures = read_bytes(b"\n".join(lines), tmp_path)
    assert ([t.id for t in traces], failures) == (["c0", "c1", "c2"], [])


def test_what_is_no_diff_is_kept_as_it_is(tmp_path: Path) -> None:
    trace = read_value(change("just words\n"), tmp_path)
    assert trace.observations == []
    assert trace.output == {"diff": "just words\n"}
    assert read_value(change(" \n"), tmp_path).output == {}


def test_labels_stay_out_of_reach_and_an_id_is_made_where_there_is_none(tmp_path: Path) -> None:
    trace = read_value(change(id=None, score=1, branch="main"), tmp_path)
    assert trace.labels == {"score": 1}
    assert trace.raw["branch"] == "main"
    assert trace.flags == ("derived-id",)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"diff": None}, "the text 'diff'"),
        ({"spec": 7}, "the text 'spec'"),
        ({"diagnosis": ["x"]}, "must be a text or null"),
    ],
)
def test_a_change_that_lacks_a_part_is_a_load_failure(
    tmp_path: Path, fields: dict[str, Any], told: str
) -> None:
    data = json.dumps(change(**fields)).encode()
    traces, failures = read_bytes(data, tmp_path, format="code_change")
    assert traces == []
    assert told in failures[0].reason


@given(LINES, LINES)
@settings(max_examples=200, deadline=None)
def test_a_diff_of_any_two_texts_is_read_whole(before: list[str], after: list[str]) -> None:
    wanted = list(difflib.unified_diff(before, after, "a/x", "b/x", lineterm="", n=1))
    parts, loose = parts_of("\n".join([*wanted, ""]) if wanted else "")
    body = [line for line in wanted[2:] if not line.startswith("@@ ")]
    assert [line for part in parts for line in part.lines] == body
    assert loose == []
    assert {part.file for part in parts} <= {"x"}
    assert sum(p.added for p in parts) == sum(line.startswith("+") for line in body)


@given(st.text(st.characters(exclude_categories=["Cs"])), LINES)
@settings(max_examples=150, deadline=None)
def test_no_text_breaks_the_reading_and_no_line_of_it_is_lost(text: str, more: list[str]) -> None:
    diff = "\n".join([text, *more, "@@ -1,999999999 +1 @@", *more])
    parts, loose = parts_of(diff)
    kept = Counter([line for part in parts for line in part.lines] + loose)
    lines = Counter(x for x in diff.split("\n") if x and not x.startswith(NAMES))
    assert lines - kept == Counter()
