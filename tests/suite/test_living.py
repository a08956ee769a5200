"""The living suite grows, is merged by git, and never loses an id."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helix.registry
from helix.errors import SuiteError
from helix.model.criterion import Criterion, Ratified, Suite
from helix.suite import compile, load
from helix.suite.dumping import rows_page
from helix.suite.lineage import history_path
from helix.suite.living import (
    Living,
    Signed,
    assert_monotonic_growth,
    ratify,
    read,
    retire,
    suite_path,
    upsert,
    write,
)
from helix.suite.load import from_source
from helix.suite.source import parse

MINED: dict[str, Any] = {
    "origin": "mined",
    "severity": "HIGH",
    "class": "judge",
    "judgeInputs": ["output.response"],
    "passCondition": "It is so.",
    "level": "output",
    "generality": "specific-semantic",
    "discovery": {
        "grounding": "observed",
        "evidence": {"refs": [{"obs": "m2", "path": "text", "value": "It is not so."}]},
        "prevalence": {"k": 1, "n": 4},
    },
}


def row(name: str, statement: str = "Pass = so.", **more: Any) -> Criterion:
    return Criterion.model_validate({"criterionId": name, "statement": statement, **MINED, **more})


def grown(state: Path, *rows: Criterion, **signed: str) -> Path:
    return write(state, upsert(read(state), rows, signed=Signed(**signed)))


def ids(living: Living) -> list[str]:
    return [r.criterion_id for r in living.suite.criteria]


def test_a_suite_that_nobody_wrote_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path) == Living(Suite(suite="eval", criteria=()))


def test_novel_rows_are_appended_and_known_ones_changed_in_their_place(tmp_path: Path) -> None:
    grown(tmp_path, row("b"), row("a"))
    grown(tmp_path, row("a"), row("b", "Pass = other."), row("c"), by="ada", at="2026-01-02")
    living = read(tmp_path)
    assert ids(living) == ["b", "a", "c"]
    assert living.row("b").version == 2
    assert [(c.criterion_id, c.event, c.by, c.fields) for c in living.history] == [
        ("b", "mined", None, ()),
        ("a", "mined", None, ()),
        ("b", "mined", "ada", ("statement", "version")),
        ("c", "mined", "ada", ()),
    ]


def test_the_same_rows_leave_the_same_bytes(tmp_path: Path) -> None:
    path = grown(tmp_path, row("a"), row("b"))
    before = (path.read_bytes(), history_path(path).read_bytes())
    grown(tmp_path, row("a"), row("b"))
    assert (path.read_bytes(), history_path(path).read_bytes()) == before


def test_a_row_that_was_built_in_python_equals_itself_read_back(tmp_path: Path) -> None:
    built = row("a", **{"class": "code", "judgeInputs": [], "generality": "general-structural",
                        "codeEval": {"primitive": "p", "tools": ("x", "y")}})  # fmt: skip
    path = grown(tmp_path, built)
    before = history_path(path).read_bytes()
    grown(tmp_path, built)
    assert history_path(path).read_bytes() == before


def test_an_operators_word_outlives_mining() -> None:
    living = upsert(Living(Suite(suite="eval", criteria=())), [row("a", origin="operator")])
    living = ratify(living, "a", Ratified(by="ada", at="2026-01-02"))
    same = upsert(living, [row("a", severity="LOW")]).row("a")
    assert (same.origin, same.severity) == ("operator", "LOW")
    assert same.ratified == Ratified(by="ada", at="2026-01-02")
    assert upsert(living, [row("a", "Pass = something else.")]).row("a").ratified is None


def test_an_assumption_that_people_settled_is_not_opened_by_mining() -> None:
    def assuming(status: str) -> Criterion:
        assumptions = [{"text": "It was open.", "status": status}]
        return row("a", discovery={**MINED["discovery"], "assumptions": assumptions})

    living = upsert(Living(Suite(suite="eval", criteria=())), [assuming("eliminated")])
    assert upsert(living, [assuming("hypothesis")]) == living


def test_a_tombstone_stays_one(tmp_path: Path) -> None:
    grown(tmp_path, row("a"))
    living = retire(read(tmp_path), "a", Signed("ada", "2026-01-02", "people disagree"))
    assert upsert(living, [row("a", "Pass = new.")]) == living
    for change in (
        lambda: retire(living, "a", Signed()),
        lambda: ratify(living, "a", Ratified(by="ada", at="2026-01-02")),
    ):
        with pytest.raises(SuiteError, match="'a' is retired"):
            change()
    write(tmp_path, living)
    assert read(tmp_path).row("a").status == "retired"


@pytest.mark.parametrize("at", range(3))
def test_a_writer_that_is_killed_leaves_all_of_a_change_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    grown(tmp_path, row("a"), row("b"))
    before = read(tmp_path)
    after = retire(before, "a", Signed("ada", "2026-01-02", "people disagree"))
    moves = iter(range(9))

    def killed(source: Any, target: Any, replace: Any = os.replace) -> None:
        if next(moves) == at:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", killed)
        write(tmp_path, after)
    (suite_path(tmp_path).parent / ".eval.suite.yaml.0123456789ab.tmp").write_bytes(b"half a r")
    left = read(tmp_path)
    assert (left.suite, left.history) == (
        (before.suite, before.history) if at == 0 else (after.suite, after.history)
    )
    grown(tmp_path, row("c"))
    kept = {".gitattributes", "eval.suite.yaml", "eval.history.jsonl"}
    assert {p.name for p in suite_path(tmp_path).parent.iterdir()} == kept


def test_a_command_that_is_typed_again_is_told_once() -> None:
    word = Ratified(by="ada", at="2026-01-02", note="so")
    once = ratify(upsert(Living(Suite(suite="eval", criteria=())), [row("a")]), "a", word)
    assert ratify(once, "a", word) == once
    other = ratify(once, "a", Ratified(by="ben", at="2026-01-02", note="so"))
    assert [c.by for c in other.history] == [None, "ada", "ben"]


def test_a_row_that_other_traces_show_too_is_noted_and_stays_as_it_was_found() -> None:
    def seen(k: int, **more: Any) -> Criterion:
        return row("a", discovery={**MINED["discovery"], "prevalence": {"k": k, "n": 9}, **more})

    first = upsert(Living(Suite(suite="eval", criteria=())), [seen(1)])
    again = upsert(first, [seen(2)], signed=Signed(why="other traces", subject_version="2"))
    assert again.suite == first.suite
    note = again.history[-1]
    told = (note.event, note.why, note.subject_version)
    assert told == ("re-observed", "other traces: seen in 2 of 9", "2")
    assert upsert(again, [seen(1)]).suite == first.suite
    inferred = upsert(again, [seen(2, grounding="inferred")]).row("a").discovery
    assert inferred is not None and inferred.prevalence is not None
    assert (inferred.grounding, inferred.prevalence.k) == ("inferred", 2)


def test_history_is_no_part_of_a_rows_digest(tmp_path: Path) -> None:
    grown(tmp_path, row("a"))
    assert read(tmp_path).row("a").digest == row("a").digest


def test_growth_is_asserted_by_name() -> None:
    before, after = (Suite(suite="s", criteria=tuple(map(row, names))) for names in ("abc", "b"))
    with pytest.raises(SuiteError, match=r"lost: a, c"):
        assert_monotonic_growth(before, after)


def test_a_suite_without_a_row_that_is_on_disk_is_not_written(tmp_path: Path) -> None:
    path = grown(tmp_path, row("a"), row("b"))
    living = read(tmp_path)
    fewer = Living(Suite(suite="eval", criteria=(row("a"),)), living.history, living.seen)
    before = path.read_bytes()
    with pytest.raises(SuiteError, match="lost: b"):
        write(tmp_path, fewer)
    assert path.read_bytes() == before


def test_what_another_wrote_since_is_not_overwritten(tmp_path: Path) -> None:
    grown(tmp_path, row("a"))
    mine = upsert(read(tmp_path), [row("a", "Pass = mine.")])
    grown(tmp_path, row("a", "Pass = theirs."))
    with pytest.raises(SuiteError, match="has changed since it was read"):
        write(tmp_path, mine)
    assert read(tmp_path).row("a").statement == "Pass = theirs."


def test_a_row_that_was_deleted_by_hand_is_missed(tmp_path: Path) -> None:
    path = grown(tmp_path, row("a"), row("b"))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-2]), encoding="utf-8")
    with pytest.raises(SuiteError, match=r"eval\.history\.jsonl:2: b: was mined and is lost"):
        read(tmp_path)
    with pytest.raises(SuiteError, match=r":2: b: was mined and is lost"):
        compile(load(path), helix.registry.load(entry_points=()))
    path.unlink()
    with pytest.raises(SuiteError, match="no file"):
        read(tmp_path)


def test_a_tombstone_that_was_woken_by_hand_is_seen(tmp_path: Path) -> None:
    path = grown(tmp_path, row("a"))
    write(tmp_path, retire(read(tmp_path), "a", Signed("ada")))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(", status: retired", ""), encoding="utf-8")
    with pytest.raises(SuiteError, match=r"history\.jsonl:2: a: was retired and is active"):
        read(tmp_path)


def test_an_unknown_field_is_refused_with_its_line(tmp_path: Path) -> None:
    path = grown(tmp_path, row("a"), row("b"))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{criterionId: b,", "{criterionId: b, owner: me,"), "utf-8")
    with pytest.raises(SuiteError, match=r"eval\.suite\.yaml:6: b: owner: unknown key"):
        read(tmp_path)


def test_a_line_of_the_history_that_is_none_is_refused(tmp_path: Path) -> None:
    path = history_path(grown(tmp_path, row("a")))
    with open(path, "ab") as file:
        file.write(b'{"criterionId":"a","event":"lost"}\n')
    with pytest.raises(SuiteError, match=r"eval\.history\.jsonl:2: .*event"):
        read(tmp_path)


NAMES = st.text(min_size=1, max_size=12)


@given(st.lists(st.tuples(NAMES, st.text(max_size=30)), max_size=6), NAMES)
@settings(max_examples=80, deadline=None)
def test_any_rows_read_back_the_same_each_on_one_line(
    written: list[tuple[str, str]], last: str
) -> None:
    rows = {name: row(name, text) for name, text in [*written, (last, "x")]}
    suite = Suite(suite="eval", criteria=tuple(rows.values()))
    text = rows_page(suite).decode("utf-8", "surrogatepass")
    assert from_source(parse(text, "s.yaml")).suite == suite
    assert len(text.splitlines()) == 3 + 2 * len(rows)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=6))
@settings(max_examples=60, deadline=None)
def test_no_sequence_of_upserts_and_retirements_loses_an_id(batches: list[list[str]]) -> None:
    living, seen = Living(Suite(suite="eval", criteria=())), set()
    for at, batch in enumerate(batches):
        before = living
        living = upsert(living, [row(name, f"Pass = {at}.") for name in batch])
        if batch and living.row(batch[0]).status == "active":
            living = retire(living, batch[0], Signed())
        assert_monotonic_growth(before.suite, living.suite)
        seen |= set(batch)
    assert set(ids(living)) == seen == {change.criterion_id for change in living.history}


def git(folder: Path, *words: str, fails: bool = False) -> str:
    name = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "core.autocrlf=false"]
    ran = subprocess.run(
        ["git", *name, *words], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert fails or ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A repository with a living suite of three rows, on the branch `main`."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    grown(tmp_path, row("a"), row("b"), row("c"))
    commit(tmp_path)
    return tmp_path


ROWS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["x", "y"]), max_size=4)


@given(ROWS, ROWS, ROWS)
@settings(max_examples=60, deadline=None)
def test_no_merge_loses_an_id_or_what_anybody_made_of_it(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]
) -> None:
    first = upsert(Living(Suite(suite="eval", criteria=())), [row(*item) for item in base.items()])
    mine, other = (upsert(first, [row(*item) for item in side.items()]) for side in (ours, theirs))
    with tempfile.TemporaryDirectory() as folder:
        for name, living in (("ours", mine), ("base", first), ("theirs", other)):
            Path(folder, name).write_bytes(rows_page(living.suite))
        text = git(Path(folder), "merge-file", "-p", "--union", "ours", "base", "theirs")
    file = from_source(parse(text, "s.yaml"))
    found = [r.criterion for r in file.rows]
    for side in (mine, other):
        changed = [r for r in side.suite.criteria if r not in first.suite.criteria]
        assert [r for r in changed if r not in found] == []
    assert {r.criterion_id for r in found} == {*base, *ours, *theirs}
    doubled = {problem.row for problem in file.problems}
    assert doubled <= ours.keys() & theirs.keys()
    assert len({r.criterion_id for r in found}) == len(found) or doubled


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=rows")


def merged(folder: Path, ours: list[Criterion], theirs: list[Criterion]) -> Living:
    """Return what git makes of two people's changes."""
    git(folder, "checkout", "--quiet", "-b", "theirs")
    grown(folder, *theirs, by="bob")
    commit(folder)
    git(folder, "checkout", "--quiet", "main")
    grown(folder, *ours, by="ada")
    commit(folder)
    git(folder, "merge", "--quiet", "--message=both", "theirs")
    return read(folder)


def test_git_merges_rows_that_two_people_appended(two: Path) -> None:
    living = merged(two, [row("d"), row("e")], [row("f", "Pass = f."), row("g", "Pass = g.")])
    assert sorted(ids(living)) == list("abcdefg")
    assert living.row("f") == row("f", "Pass = f.")
    assert {c.by for c in living.history} == {None, "ada", "bob"}


def test_git_merges_changes_of_neighbouring_rows(two: Path) -> None:
    living = merged(two, [row("a", "Pass = ours.")], [row("b", "Pass = theirs."), row("d")])
    assert ids(living) == list("abcd")
    assert (living.row("a").statement, living.row("b").statement) == (
        "Pass = ours.",
        "Pass = theirs.",
    )
    assert [c.event for c in living.changes("a")] == ["mined", "mined"]


def test_git_merges_a_change_of_the_last_row_with_a_row_that_is_appended(two: Path) -> None:
    living = merged(two, [row("c", "Pass = ours.")], [row("d")])
    assert ids(living) == list("abcd")
    assert living.row("c").statement == "Pass = ours."


def test_git_merges_suites_that_two_people_began(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=nothing")
    assert ids(merged(tmp_path, [row("a")], [row("b"), row("c")])) == ["a", "b", "c"]


def test_a_row_that_both_added_alike_comes_out_once(two: Path) -> None:
    assert ids(merged(two, [row("d")], [row("d")])) == list("abcd")


def test_a_row_that_both_changed_comes_out_twice_and_is_refused(two: Path) -> None:
    with pytest.raises(SuiteError, match=r":7: b: criterion_id: 'b' is taken by the row at line 6"):
        merged(two, [row("b", "Pass = ours.")], [row("b", "Pass = theirs.")])


def test_a_conflict_that_is_left_is_refused_with_its_line(two: Path) -> None:
    (two / "living-suite" / ".gitattributes").unlink()
    commit(two)
    with pytest.raises(AssertionError, match="CONFLICT"):
        merged_without_attributes(two)
    with pytest.raises(SuiteError, match=r"eval\.history\.jsonl:4: a merge conflict is left"):
        read(two)
    git(two, "checkout", "--ours", "living-suite/eval.history.jsonl")
    with pytest.raises(SuiteError, match=r"eval\.suite\.yaml:10: a merge conflict is left"):
        read(two)


def merged_without_attributes(folder: Path) -> None:
    for branch, name in (("theirs", "f"), ("main", "d")):
        git(folder, "checkout", "--quiet", *([] if branch == "main" else ["-b"]), branch)
        grown(folder, row(name))
        (folder / "living-suite" / ".gitattributes").unlink()
        commit(folder)
    git(folder, "merge", "--quiet", "theirs")


def test_the_folder_of_a_suite_holds_nothing_but_it(tmp_path: Path) -> None:
    grown(tmp_path, row("a"))
    assert sorted(path.name for path in suite_path(tmp_path).parent.iterdir()) == [
        ".gitattributes",
        "eval.history.jsonl",
        "eval.suite.yaml",
    ]
