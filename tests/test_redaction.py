from __future__ import annotations

import json

import pytest

from helix.redaction import redacted

SECRET = 'sk/abc"\\d\xe9f-\U0001f511-0123'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", r"\/").replace("d83d", "D83D"),
        "".join(
            f"\\u{unit:04X}" for unit in memoryview(SECRET.encode("utf-16-le")).cast("H").tolist()
        ),
        json.dumps(SECRET)[1:-1].replace("a", r"\u0061"),
    ],
)
def test_a_secret_is_taken_out_however_json_may_write_it(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("DESK_API_KEY", SECRET)
    assert redacted(f'{{"said": "so: {written}."}}') == '{"said": "so: [DESK_API_KEY]."}'


def test_what_holds_no_secret_stays_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_API_KEY", SECRET)
    text = json.dumps({"said": f"\\ {SECRET[:-1]} \\u0061 \n"})
    assert redacted(text) == text
