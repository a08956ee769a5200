"""The server of the page: who is let in, what is refused, and that every answer is guarded."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.labels.page import (
    HOSTILE,
    Served,
    ask,
    labels_in,
    row,
    served,
    trace,
    write_suite,
    write_traces,
)
from tests.moments import LIMIT_S

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
pytest.importorskip("starlette", reason="the extra `serve` is not installed")

CELL = {"trace": "t1", "criterion": "kind"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("desk")
    hostile = [trace(name, text) for name, text in HOSTILE.items()]
    answer = {"reward": 0, "expected": {"kind": "the-right-answer"}}
    first = trace("t1", labels=answer, raw={"kept": "beside-the-model"})
    write_traces(made / "traces.jsonl", [first, *hostile])
    write_suite(made / "suite.yaml", [row("kind"), row("right")])
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(folder) as running:
        yield running


def own(server: Served) -> dict[str, str]:
    """The headers of the page itself."""
    return {
        "Cookie": f"helix-labels-{server.port}={server.token}",
        "Origin": server.origin,
        "Content_Type": "application/json",
    }


def post(server: Served, path: str, value: Any, **headers: str) -> tuple[int, Any]:
    body = json.dumps(value).encode("ascii")
    status, _, data = ask(server, path, "POST", body, **{**own(server), **headers})
    return status, json.loads(data) if data[:1] == b"{" else data.decode("utf-8")


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(server: Served) -> None:
    status, headers, _ = ask(server, f"/?token={server.token}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].lower()
    assert cookie.startswith(f"helix-labels-{server.port}=") and "httponly" in cookie
    assert "samesite=strict" in cookie
    status, headers, _ = ask(server, "/", Cookie=own(server)["Cookie"])
    assert status == 303 and headers["location"].startswith("/cell/")
    status, _, page = ask(server, "/cell/0", X_Helix_Token=server.token)
    assert status == 200 and b"Where is my parcel?" in page


@pytest.mark.parametrize("path", ["/", "/cell/0", "/label.js", "/report.css", "/nothing"])
def test_without_the_token_nothing_is_told(server: Served, path: str) -> None:
    for headers in (
        {},
        {"Cookie": f"helix-labels-{server.port}=wrong"},
        {"Cookie": f"helix-labels={server.token}"},
        {"Cookie": ";;=;\x7f=\xff"},
        {"X_Helix_Token": ""},
        {"X_Helix_Token": server.token[:-1], "Cookie": own(server)["Cookie"]},
    ):
        status, _, body = ask(server, path, **headers)
        assert (status, body[:31]) == (403, b"The token is missing or wrong: "), headers
    assert ask(server, f"{path}?token={server.token}x")[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_origin_is_refused_even_with_the_token(
    server: Served, folder: Path, headers: dict[str, str]
) -> None:
    before = (folder / "ada.jsonl").read_bytes()
    assert ask(server, "/cell/0", **{**own(server), **headers})[0] == 403
    assert ask(server, f"/?token={server.token}", **headers)[0] == 403
    assert post(server, "/cell/0", {**CELL, "label": "pass"}, **headers)[0] == 403
    assert post(server, "/undo", None, **headers)[0] == 403
    assert (folder / "ada.jsonl").read_bytes() == before


@pytest.mark.parametrize("other", ['prefs={"a": 1, "b"}', "a b=c", "set[]=1", "=", "x", "\xff"])
def test_cookies_that_another_port_has_set_lock_nobody_out(server: Served, other: str) -> None:
    mine = own(server)["Cookie"]
    for cookie in (f"{other}; {mine}", f"{mine}; {other}", f"{other};{mine};{other}"):
        assert ask(server, "/cell/0", Cookie=cookie)[0] == 200


def test_a_request_to_talk_on_another_protocol_is_answered_as_any_other(server: Served) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    assert ask(server, "/cell/0", **upgrade)[0] == 403
    assert ask(server, "/cell/0", **own(server), **upgrade)[0] == 200


def test_requests_that_never_end_keep_nobody_waiting(folder: Path) -> None:
    with served(folder, labels="slow.jsonl") as server, contextlib.ExitStack() as held:
        host = f"Host: 127.0.0.1:{server.port}"
        body = [host, *(f"{k.replace('_', '-')}: {v}" for k, v in own(server).items())]
        for lines in ([host], [*body, "Content-Length: 100", "", "{"]):
            for _ in range(50):
                line = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                line.sendall("\r\n".join(["POST /undo HTTP/1.1", *lines]).encode("ascii"))
        assert ask(server, "/cell/0", **own(server))[0] == 200
        server.process.terminate()
        assert server.process.wait(timeout=LIMIT_S) == 0


def test_a_post_by_cookie_must_say_its_origin(server: Served) -> None:
    headers = {"Cookie": own(server)["Cookie"], "Content_Type": "application/json"}
    assert ask(server, "/cell/0", "POST", b'{"label": "pass"}', **headers)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2fsuite.yaml", "//etc/passwd",
     "/label.css/../suite.yaml", "/ada.jsonl", "/static/x", "/cell/-1", "/cell/99999",
     "/cell/0/../../x", "/cell/x", f"/cell/{'9' * 5000}"],
)  # fmt: skip
def test_no_path_leads_to_a_file(server: Served, path: str) -> None:
    status, headers, body = ask(server, path, Cookie=own(server)["Cookie"])
    assert status == 404 and len(body) < 40
    assert headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["/", "/cell/0", "/label.css", "/label.js", "/nothing"])
def test_every_answer_is_guarded(server: Served, path: str) -> None:
    for headers in ({}, {"Cookie": own(server)["Cookie"]}):
        _, told, _ = ask(server, path, **headers)
        policy = told["content-security-policy"]
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert (told["cache-control"], told["x-content-type-options"]) == ("no-store", "nosniff")
        assert (told["referrer-policy"], told["x-frame-options"]) == ("no-referrer", "DENY")
        assert "server" not in told and "access-control-allow-origin" not in told


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({**CELL, "label": "maybe"}, "label must be pass, fail or cannot-decide (got 'maybe')"),
        ({**CELL, "label": "pass", "sure": 1}, "no key 'sure'"),
        ({**CELL}, "label is missing"),
        ({"label": "pass"}, "trace is missing; criterion is missing"),
        ({**CELL, "criterion": "right", "label": "pass"}, "this page is of another session"),
        ({**CELL, "trace": "t2", "label": "pass"}, "this page is of another session"),
        ([], "must be an object"),
        ({**CELL, "label": "pass", "note": "x" * 4001}, "note must have at most 4,000 characters"),
        (
            {**CELL, "label": "pass", "refs": [{"obs": "m2", "path": "text", "value": "gone"}]},
            "no evidence",
        ),
        (
            {**CELL, "label": "pass", "refs": [{"obs": "m2", "path": "text", "value": "way"}] * 21},
            "at most 20",
        ),
    ],
)
def test_what_is_wrong_is_told_and_not_kept(
    server: Served, folder: Path, sent: Any, told: str
) -> None:
    before = (folder / "ada.jsonl").read_bytes()
    status, answer = post(server, "/cell/0", sent)
    assert status == 422 and told in answer["error"]
    assert (folder / "ada.jsonl").read_bytes() == before


def test_what_is_no_json_or_too_much_of_it_is_refused(server: Served) -> None:
    for body, kind in ((b"{", "application/json"), (b"label=pass", "text/plain"),
                       (b'"' + b"x" * 300_000 + b'"', "application/json")):  # fmt: skip
        headers = {**own(server), "Content_Type": kind}
        assert ask(server, "/cell/0", "POST", body, **headers)[0] == 422


def test_a_label_is_in_the_file_when_the_answer_comes(server: Served, folder: Path) -> None:
    refs = [{"obs": "m2", "path": "text", "value": "parcel 4711"}]
    sent = {"trace": "t1", "criterion": "right", "label": "fail", "refs": refs, "note": "late"}
    status, answer = post(server, "/cell/1", sent)
    assert (status, answer) == (200, {"next": "/cell/2", "labelled": 1})
    (line,) = labels_in(folder / "ada.jsonl")
    assert line.pop("when").endswith("Z")
    assert line == {
        "schemaVersion": "1.0", "trace": "t1", "criterion": "right", "label": "fail",
        "refs": refs, "note": "late", "rater": "ada",
    }  # fmt: skip
    status, answer = post(server, "/undo", None)
    assert status == 200 and (answer["next"], answer["draft"]["note"]) == ("/cell/1", "late")
    assert labels_in(folder / "ada.jsonl") == []
    assert post(server, "/undo", None) == (200, {"next": None})


def test_half_a_character_can_be_cited(server: Served, folder: Path) -> None:
    at = next(n for n, name in enumerate(["t1", *HOSTILE]) if name == "surrogate") * 2
    ref = {"obs": "m2", "path": "text", "value": "half \ud83d of a pair"}
    assert post(server, f"/cell/{at}/evidence", ref) == (200, {"match": "contains"})
    sent = {"trace": "surrogate", "criterion": "kind", "label": "pass", "refs": [ref]}
    assert post(server, f"/cell/{at}", sent)[0] == 200
    assert labels_in(folder / "ada.jsonl")[0]["refs"] == [ref]
    status, _, page = ask(server, f"/cell/{at}", Cookie=own(server)["Cookie"])
    assert status == 200 and b'half <span class="esc">\\ud83d</span> of a pair' in page
    post(server, "/undo", None)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_on_the_page_as_text(server: Served, name: str) -> None:
    at = ["t1", *HOSTILE].index(name) * 2
    status, _, data = ask(server, f"/cell/{at}", Cookie=own(server)["Cookie"])
    page = data.decode("utf-8")
    assert status == 200
    assert (
        page.count("<script") == 1
        and "<img" not in page
        and "onerror=document" in HOSTILE["markup"]
    )
    assert not set(page) & set("\u202e\u200b\u2066\x07\x1b\x00\ufffd")
    if name == "template":
        assert "{{ 7 * 7 }} {% raw %} ${7*7} `js`" in page


def test_what_a_trace_says_is_right_is_not_told(server: Served) -> None:
    _, _, page = ask(server, "/cell/0", Cookie=own(server)["Cookie"])
    assert b"parcel 4711" in page
    assert b"the-right-answer" not in page and b"reward" not in page


def test_two_raters_label_at_once_in_files_of_their_own(server: Served, folder: Path) -> None:
    with served(folder, labels="ben.jsonl", rater="ben") as other:
        assert post(other, "/cell/0", {**CELL, "label": "fail"})[0] == 200
        assert post(server, "/cell/0", {**CELL, "label": "pass"})[0] == 200
        stranger = own(server)["Cookie"]
        assert post(other, "/cell/0", {**CELL, "label": "pass"}, Cookie=stranger)[0] == 403
    assert [line["rater"] for line in labels_in(folder / "ben.jsonl")] == ["ben"]
    assert [line["label"] for line in labels_in(folder / "ada.jsonl")] == ["pass"]
    post(server, "/undo", None)


def test_one_file_has_one_rater_at_a_time(server: Served, folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "helix", "labels", "serve", "--traces", folder / "traces.jsonl",
         "--suite", folder / "suite.yaml", "--labels", folder / "ada.jsonl", "--rater", "ada"],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert ran.returncode == 2 and "is being labelled in by another process" in ran.stderr
