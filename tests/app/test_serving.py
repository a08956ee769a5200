"""`helix report serve`: who is let in, what can be asked for, and a run that is being written."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import helix
from helix.errors import ArtifactError
from helix.files import atomic_folder, has_folder
from helix.reports.underway import Watch, render_underway
from tests.labels.page import Served, ask, row, running, trace, write_suite, write_traces
from tests.moments import LIMIT_S, until
from tests.reports import sample
from tests.reports.pages import Page

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
pytest.importorskip("starlette", reason="the extra `serve` is not installed")


def served(run: Path, *more: str) -> AbstractContextManager[Served]:
    """Serve a run as `helix report serve` does."""
    return running("report", "serve", str(run), *more)


def evaluated(folder: Path, count: int = 3) -> Path:
    """Evaluate made-up traces by code and return the run's folder."""
    hostile = "</script><script>document.title='owned'</script>"
    traces = [trace(f"t{n}", hostile) for n in range(count)]
    write_traces(folder / "traces.jsonl", traces)
    check = {"primitive": "presence", "field": "output.response"}
    write_suite(folder / "suite.yaml", [row("spoke", **{"class": "code", "code_eval": check})])
    helix.evaluate(folder / "traces.jsonl", folder / "suite.yaml", run_dir=folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluated(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def server(run: Path) -> Iterator[Served]:
    with served(run) as running:
        until(lambda: get(running, "/report.html")[0] == 200)
        yield running


def get(server: Served, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Ask with the cookie that the printed address sets."""
    cookie = {"Cookie": f"helix-report-{server.port}={server.token}"}
    return ask(server, path, **{**cookie, **headers})


def leaves(server: Served) -> list[str]:
    page = get(server, "/report.html")[2].decode("utf-8")
    return sorted(set(re.findall(r"report/[0-9a-f]{24}\.html", page)))


def test_the_report_is_served_with_a_page_per_trace(server: Served, run: Path) -> None:
    status, headers, _ = get(server, "/")
    assert (status, headers["location"]) == (303, "/report.html")
    names = leaves(server)
    assert len(names) == 3
    for name in names:
        status, headers, body = get(server, f"/{name}")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        (shown,) = Page(body.decode("utf-8")).all("details", "traj")
        assert "owned" in shown.text
    assert get(server, "/report/report.css")[1]["content-type"] == "text/css; charset=utf-8"
    assert get(server, "/report/report.js")[1]["content-type"].startswith("text/javascript")
    assert not (run / "report").exists() and not (run / "report.html").exists()


def test_its_address_is_to_be_had_as_json(run: Path) -> None:
    with served(run, "--json") as server:
        assert get(server, "/")[0] in (200, 303)


def test_without_the_token_nothing_is_told(server: Served) -> None:
    for path in ("/", "/report.html", f"/{leaves(server)[0]}", "/report/report.js", "/nothing"):
        for headers in ({}, {"Cookie": f"helix-report-{server.port}=wrong"}):
            status, _, body = ask(server, path, **headers)
            assert status == 403 and b"address that helix report serve printed" in body
    status, headers, _ = ask(server, f"/?token={server.token}")
    assert (status, headers["location"]) == (303, "/")
    assert "httponly" in headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_another_host_or_origin_is_refused_even_with_the_token(
    server: Served, headers: dict[str, str]
) -> None:
    assert get(server, "/report.html", **headers)[0] == 403
    assert ask(server, f"/?token={server.token}", **headers)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/report/../scorecard.json", "/report/%2e%2e/scorecard.json", "/report/..%2fplan.json",
     "//etc/passwd", "/scorecard.json", "/verdicts.jsonl", "/report/made-by-helix.txt",
     "/report/", "/report/x.html", "/report/report.css/", f"/report/{'0' * 24}.html",
     "/report/report.html", "/report.html/x", f"/report/{'a' * 300}.html"],
)  # fmt: skip
def test_no_path_leads_to_anything_but_a_page(server: Served, path: str) -> None:
    status, _, body = get(server, path)
    assert status == 404 and len(body) < 40


@pytest.mark.parametrize("path", ["/", "/report.html", "/report/report.css", "/nothing"])
def test_every_answer_is_guarded(server: Served, path: str) -> None:
    for told in (get(server, path)[1], ask(server, path)[1]):
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert "unsafe" not in told["content-security-policy"]
        assert (told["cache-control"], told["x-content-type-options"]) == ("no-store", "nosniff")
        assert (told["referrer-policy"], told["x-frame-options"]) == ("no-referrer", "DENY")
        assert "server" not in told and "access-control-allow-origin" not in told


def test_only_reading_is_answered(server: Served) -> None:
    own = {"Cookie": f"helix-report-{server.port}={server.token}", "Origin": server.origin}
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/report.html", method, b"", **own)[0] == 405


def test_pages_that_the_run_holds_are_served_and_links_out_of_them_are_not(
    tmp_path: Path,
) -> None:
    run = evaluated(tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("kept", encoding="utf-8")
    (run / "report.html").write_text("the run's own", encoding="utf-8")
    with atomic_folder(run / "report.html") as leaf:
        leaf(f"{'1' * 24}.html", b"a page")
    assert has_folder(run / "report.html")
    (run / "report" / f"{'2' * 24}.html").symlink_to(secret)
    with served(run) as server:
        until(lambda: get(server, "/report.html")[0] == 200)
        assert get(server, "/report.html")[2] == b"the run's own"
        assert get(server, f"/report/{'1' * 24}.html")[2] == b"a page"
        assert get(server, f"/report/{'2' * 24}.html")[0] == 404
        shutil.move(run / "report", tmp_path / "elsewhere")
        (run / "report").symlink_to(tmp_path / "elsewhere")
        assert get(server, f"/report/{'1' * 24}.html")[0] == 404


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_zero_and_leaves_the_run_as_it_was(run: Path, end: signal.Signals) -> None:
    before = {file: file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file()}
    with served(run) as server:
        get(server, "/")
        server.process.send_signal(end)
        assert server.process.wait(timeout=LIMIT_S) == 0
    assert {file: file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file()} == before


@pytest.mark.slow
@pytest.mark.parametrize("end", ["INT", "TERM"])
def test_told_to_end_before_it_answers_it_ends_with_zero_too(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    # The browser, which is opened before that, tells it.
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\nkill -{end} $PPID\n", encoding="utf-8")
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with served(run, "--open") as server:
        assert server.process.wait(timeout=LIMIT_S) == 0


@pytest.mark.slow
def test_a_run_that_is_being_written_says_how_far_it_is_and_then_shows_its_report(
    tmp_path: Path,
) -> None:
    done = evaluated(tmp_path)
    run = tmp_path / "growing"
    run.mkdir()
    (run / "events.jsonl").write_text('{"at":"2031-01-01T10:00","kind":"started"}\n', "utf-8")
    lines = (done / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    with served(run) as server:
        assert get(server, "/report.html")[1]["location"] == "/"
        page = get(server, "/")[2].decode("utf-8")
        assert "Running" in page and "0 traces adjudicated so far" in page
        assert 'http-equiv="refresh"' in page and "<script" not in page
        still = get(server, "/?still")[2].decode("utf-8")
        assert "0 traces adjudicated so far" in still and 'http-equiv="refresh"' not in still
        for name in ("plan.json", "manifest.jsonl"):
            shutil.copy(done / name, run / name)
        (run / "verdicts.part").write_bytes(lines[0] + lines[1][:20])
        assert "1 trace of 3 adjudicated so far" in get(server, "/")[2].decode("utf-8")
        for name in ("subject.json", "verdicts.jsonl", "scorecard.json"):
            shutil.copy(done / name, run / name)
        until(lambda: get(server, "/")[0] == 303)
        assert len(leaves(server)) == 3


def test_pages_that_cannot_be_made_are_said_to_be_none(tmp_path: Path) -> None:
    run = evaluated(tmp_path)
    told = json.loads((run / "runmeta.json").read_text(encoding="utf-8"))
    (run / "runmeta.json").write_text(json.dumps({**told, "versions": []}), encoding="utf-8")
    with served(run) as running:
        until(lambda: b"No report" in get(running, "/")[2])
        assert b"could not be made" in get(running, "/")[2]


def test_of_a_run_that_grows_each_line_is_counted_once(tmp_path: Path) -> None:
    from helix.model.lines import encode_line

    lines = [encode_line(sample.line(n)) + b"\n" for n in range(8)]
    part, events = tmp_path / "verdicts.part", tmp_path / "events.jsonl"
    started = {"at": "2031-01-01T10:00", "kind": "started"}
    events.write_text(json.dumps(started) + "\n", encoding="utf-8")
    watch = Watch(tmp_path)
    wanted = 0
    for n, line in enumerate(lines, 1):
        with open(part, "ab") as file:
            file.write(line[:9])
        assert sum(n for _, n in watch.look().counts) == wanted
        with open(part, "ab") as file:
            file.write(line[9:])
        wanted += len(sample.line(n - 1).dense_map)
        assert sum(n for _, n in watch.look().counts) == wanted
    counts = dict(watch.look().counts)
    assert counts["incomplete"] == sum(len(sample.line(n).not_adjudicated) for n in range(8))
    # The same folder, begun anew.
    part.write_bytes(lines[0])
    events.write_text(json.dumps({**started, "note": "<b>\x1b[2J"}) + "\n", encoding="utf-8")
    seen = Watch(tmp_path).look()
    assert sum(n for _, n in seen.counts) == len(sample.line(0).dense_map)
    assert list(seen.events) == [("2031-01-01T10:00", "started: note <b>\x1b[2J")]
    page = render_underway("</title><script>", seen).decode("utf-8")
    assert "<script" not in page and "<b>" not in page.partition("Last events")[2]


def test_what_is_no_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from helix.app.commands.report import run as command
    from helix.errors import UsageError

    with pytest.raises(ArtifactError, match="must be the folder of a run"):
        command(["serve", str(tmp_path)])
    (tmp_path / "discovery.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="must be a run with verdicts"):
        command(["serve", str(tmp_path)])


def test_without_the_extra_it_says_what_to_install(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from helix.app.commands.report import run as command
    from helix.errors import UsageError

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("helix.app.serving_pages", "helix.labels.loopback"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        package, _, module = name.rpartition(".")
        monkeypatch.delattr(sys.modules[package], module, raising=False)
    with pytest.raises(UsageError, match=r"uvicorn: pip install 'helix-evals\[serve\]'"):
        command(["serve", str(run)])
