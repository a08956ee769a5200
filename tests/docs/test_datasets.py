"""docs/datasets.md: its rows, files and keys are those that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from helix.app import keys
from helix.app.commands.schema import SHAPES
from helix.build_dataset import store
from helix.build_dataset.tuples import MOST
from helix.model.config import DatasetConfig
from helix.model.dataset import Why
from helix.model.splits import PARTS


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_every_kind_of_row_stands_in_its_table_with_its_default(page: str) -> None:
    table = dict(re.findall(r"^\| `(\w+)` \|.+\| (.+) \|$", page, re.MULTILINE))
    assert set(table) == set(get_args(Why))
    default = {why for why, told in table.items() if told == "yes"}
    assert default == set(DatasetConfig().include)


def test_its_files_are_those_that_are_written(page: str) -> None:
    named = set(re.findall(r"^\| `([\w.]+)` \| ", page, re.MULTILINE)) - set(get_args(Why))
    assert named == {store.ROWS, store.TASKS, store.LABELS, store.RECORD}
    assert all(f"`{store.TRACES}/{part}.jsonl`" in page for part in PARTS)
    assert set(re.findall(r"helix schema ([\w-]+)", page)) <= set(SHAPES)
    assert f"{MOST:,} at most" in page


def test_every_key_that_it_names_is_one(page: str) -> None:
    named = set(re.findall(r"\b((?:dataset|validation|subject)\.[a-z_]+)", page))
    assert named - {"dataset.json"} <= set(keys.names())
    assert {key for key in keys.names() if key.startswith("dataset.")} <= named
