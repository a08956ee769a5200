"""What must not be remembered, as far as a text shows it (METHOD 79).

Private data, findings about the subject, what belongs to one run, and what code, configuration or
git already say. What no pattern can tell is left to whoever writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_PRIVATE: Final[tuple[tuple[str, str], ...]] = (
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    (
        "a secret key or token",
        r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
        r"|\bgithub_pat_\w{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[\w-]{30,}"
        r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|(?i:\bbearer )[\w.~+/-]{16,}",
    ),
    (
        "a password or a secret",
        r"(?i)\b(?:password|passwd|passphrase|secret|api[ _-]?key|access[ _-]?token)\b"
        r"\s*(?:is|=|:)\s*\S{4,}",
    ),
    ("an address that holds a password", r"(?i)\b[a-z][a-z0-9+]+://[^/\s:@]+:[^/\s@]+@"),
    ("an e-mail address", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
)
_NUMBER: Final = re.compile(r"\+?\d(?:[ -]?\d){9,}")
_NO_NUMBER: Final = re.compile(r"\b[a-z][a-z0-9+]+://\S+|\b\d{4}-\d\d-\d\d\b")
"""Addresses and dates, whose digits are nobody's number."""
_DATE_AND_TIME: Final = r"\d{4}-\d\d-\d\d_\d\d-\d\d"
_FINDING: Final = re.compile(
    r"(?i)\b(?:trace|trajectory|criterion|observation|run id)\s+(?:id\s+)?"
    r"[`'\"“]?(?=[\w.:/-]*\d)[a-z0-9][\w.:/-]*"
)
_ONE_RUN: Final = re.compile(
    r"(?i)\b(?:this|the last|the latest|today['’]s|yesterday['’]s) (?:run|execution)\b"
    rf"|\boutputs/|\b{_DATE_AND_TIME}"
)
_OVERRIDE: Final = re.compile(r"(?m)^\s*[+~]?([a-z_]+(?:\.[a-z_]+)+)=\S")
_COMMIT: Final = re.compile(r"(?i)\bcommit [0-9a-f]{7,40}\b")
_CODE: Final = re.compile(
    r"(?m)^\s*(?:```|~~~)|^\s*(?:def|class) \w.*:$|^\s*(?:from [\w.]+ import .+|import [\w.]+)$"
)
_TELLING: Final = re.compile(r"[\d_.:/-]")


def private(text: str) -> str | None:
    """Return what of a text is private data; None where no pattern sees any."""
    for name, pattern in _PRIVATE:
        if re.search(pattern, text):
            return name
    if _NUMBER.search(_NO_NUMBER.sub("|", text)):
        return "a number of many digits, as of a card, an account or a phone"
    return None


def refusal(text: str, known: Collection[str] = ()) -> str | None:
    """Return why a text must not be remembered; None where nothing speaks against it.

    `known` are ids of criteria and traces. One that could be an ordinary word is passed over.
    """
    if (what := private(text)) is not None:
        return f"it holds {what}: private data is not kept in files that are committed"
    named = _FINDING.search(text)
    finding = named.group() if named else _named(text, known)
    if finding is not None:
        return (
            f"it is a finding about the subject ({finding}): those belong to criteria and "
            "datasets (helix discover, helix build-dataset)"
        )
    if found := _ONE_RUN.search(text):
        return f"it is about one run ({found.group()}): say what holds for every run"
    if found := _OVERRIDE.search(text):
        return f"the configuration says it ({found[1]}): set it in a file of conf/"
    if found := _COMMIT.search(text):
        return f"git says it ({found.group()})"
    if _CODE.search(text):
        return "it holds code, which says itself what it does"
    return None


def _named(text: str, known: Collection[str]) -> str | None:
    for name in sorted(known):
        telling = len(name) > 3 and _TELLING.search(name)
        if telling and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            return name
    return None
