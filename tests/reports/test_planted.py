"""Planted traces through a whole run: in no report does their text act, and each is read back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from helix.reports.visible import one_line, visible
from helix.runs import RunFiles
from tests import chromium
from tests.reports import planted, runs
from tests.reports.pages import Page
from tests.reports.planted import FAR, PAYLOADS
from tests.reports.test_junit import SCHEMA

pytestmark = pytest.mark.slow

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
Cells = Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports of one run over all planted traces, by renderer."""
    return planted.run(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def truth(files: dict[str, Path]) -> Cells:
    """How many cells of each criterion stand in each state."""
    lines = RunFiles(files["json"].parents[1] / "run").lines()
    found = Counter((row, state) for line in lines for row, state in line.dense_map.items())
    assert {state for _, state in found} == {"fail", "uncertain"}
    assert sum(found.values()) == 3 * len(PAYLOADS)
    return found


def rows(found: dict[tuple[str, int, str], str]) -> Cells:
    assert len({trace for trace, _, _ in found}) == len(PAYLOADS)
    return Counter((criterion, state) for (_, _, criterion), state in found.items())


def text_of(data: bytes) -> str:
    """Return a report's text; nothing in it could act on a screen that shows it."""
    text = data.decode("utf-8")
    found = CONTROLS.search(text.replace("\r\n", "\n"))
    assert found is None, (found, text[max(found.start() - 40, 0) : found.end() + 20])
    return text


def html(data: bytes) -> Cells:
    page = Page(text_of(data))
    attributes = {name for element in page.elements for name in element.attributes}
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    tags = {element.tag for element in page.elements}
    assert not tags & {"iframe", "object", "embed", "base", "link"}
    sources = [e.attributes.get("src", "") + e.attributes.get("href", "") for e in page.elements]
    assert not [one for one in sources if re.match(r"\s*(?!#|data:image/svg)\S*:", one)]
    found = {
        (cell.attributes["data-trace"], 0, above.attributes["data-criterion"]):
            cell.attributes["data-state"]
        for cell in page.all("td") if "data-state" in cell.attributes
        for above in cell.above if "data-criterion" in above.attributes
    }  # fmt: skip
    return rows(found)


def terminal(data: bytes) -> Cells:
    text = text_of(data)
    assert not [line for line in text.splitlines() if re.match(r"\s*::|.*##", line)]
    assert text.count("FAIL") == 3, "two criteria and the gate"
    folded = [line for line in text.splitlines() if line.startswith("✕ FAIL  HIGH")]
    shown = (re.search(r"(\S+)  fails on (\d+) traces", line) for line in folded)
    return Counter({(found[1], "fail"): int(found[2]) for found in shown if found})


def markdown(data: bytes) -> Cells:
    text = text_of(data)
    assert len(data) < 1 << 20 and FAR not in text
    bare = re.sub("^Run just these again: `.*`$", "", text, flags=re.MULTILINE)
    assert not re.search(r"<(?!br>)[a-z/!]|\]\(|(?<!\\)\[|^ *```|@", bare, re.MULTILINE)
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# Gate: ✕ fail"]
    table = re.findall(r"^\| (\S+) \| (?:HIGH|MED) .*?\| (\d+) \| (\d+) \| 0 \| 0 ", text, re.M)
    counts = [(name.replace("\\", ""), int(fail), int(doubt)) for name, fail, doubt in table]
    return +Counter(
        {(name, "fail"): fail for name, fail, _ in counts}
        | {(name, "uncertain"): doubt for name, _, doubt in counts}
    )


def annotations(data: bytes) -> Cells:
    lines = text_of(data).splitlines()
    assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in lines)
    kinds = Counter(line.split()[0] for line in lines)
    assert (kinds["::error"], kinds["::notice"]) == (10, 10) and kinds["::warning"] <= 10
    titles = re.findall(r"title=(\w+)%3A ([\w-]+)::", "\n".join(lines))
    return Counter((row, runs.UNDECIDED.get(state, state)) for state, row in titles)


def junit(data: bytes) -> Cells:
    text = text_of(data)
    SCHEMA.validate(text)
    assert "<!DOCTYPE" not in text and "<!ENTITY" not in text
    assert len(list(JUnitXml.fromstring(data))) == len(PAYLOADS) + 1
    return rows(runs.from_junit(data))


def table(data: bytes) -> Cells:
    text = text_of(data)
    for row in csv.reader(io.StringIO(text, newline=""), strict=True):
        assert not [cell for cell in row if re.match(r"\s*[=+@\t-]", cell)]
        assert max(map(len, row)) <= 32_001
    return rows(runs.from_csv(data))


def as_json(data: bytes) -> Cells:
    json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", data)
    return rows(runs.from_json(data))


def otel(data: bytes) -> Cells:
    text_of(data)
    return rows(runs.from_otel(data))


def sarif(data: bytes) -> Cells:
    text_of(data)
    return rows(runs.from_sarif(data))


def parquet(data: bytes) -> Cells:
    for row in runs.parquet_table(data).to_pylist():
        text_of("".join(str(value) for value in row.values()).encode("utf-8"))
    return rows(runs.from_parquet(data))


READERS: dict[str, Callable[[bytes], Cells]] = {
    "annotations": annotations,
    "csv": table,
    "github": markdown,
    "html": html,
    "json": as_json,
    "junit": junit,
    "markdown": markdown,
    "otel": otel,
    "parquet": parquet,
    "sarif": sarif,
    "terminal": terminal,
}
IN_PART = {"annotations": 22, "terminal": 40}
"""Reports that show the worst cells alone, and at least how many they show here."""


@pytest.mark.parametrize("name", planted.built_in())
def test_planted_text_acts_in_no_report_and_every_cell_keeps_its_state(
    name: str, files: dict[str, Path], truth: Cells
) -> None:
    assert name in READERS, f"a new renderer needs a reader here that looks for what acts: {name}"
    found = READERS[name](files[name].read_bytes())
    if name in IN_PART:
        assert found <= truth and found.total() >= IN_PART[name]
    else:
        assert found == truth


def test_the_page_of_planted_traces_alerts_asks_and_breaks_nothing(
    files: dict[str, Path], tmp_path: Path
) -> None:
    page = files["html"].rename(files["html"].with_suffix(".html"))
    try:
        with chromium.browser(tmp_path / "profile") as driver:
            driver.get(page.as_uri())
            driver.execute_script(
                "document.querySelectorAll('details').forEach(d => d.open = true)"
            )
            # An alert would make this raise; links of traces are followed as a reader does.
            seen: dict[str, Any] = driver.execute_script(
                "document.querySelectorAll('#matrix td a').forEach(a => a.click());"
                "return {title: document.title, images: document.images.length,"
                " scripts: document.scripts.length, at: location.href}"
            )
            assert seen["images"] == 0 and seen["scripts"] <= 2
            assert seen["at"].startswith(page.as_uri()) and "owned" not in seen["title"]
            assert chromium.complaints(driver) == []
            assert {url.split("#")[0] for url in chromium.requests(driver)} == {page.as_uri()}
    finally:
        page.rename(files["html"])


def test_every_payload_can_still_be_read_where_the_format_keeps_whole_texts(
    files: dict[str, Path],
) -> None:
    told = {line["trajectoryId"] for line in json.loads(files["json"].read_bytes())["verdicts"]}
    assert {visible(text).strip() for text in PAYLOADS.values()} == {
        visible(text).strip() for text in told
    }
    page = Page(files["html"].read_text("utf-8"))
    for name in ("script", "attribute", "template", "ansi", "bidi", "surrogate", "cdata"):
        assert one_line(PAYLOADS[name]) in " ".join(page.elements[0].text.split()), name
