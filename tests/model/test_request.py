from __future__ import annotations

import pytest

from helix.model.request import same_name


@pytest.mark.parametrize(
    "other",
    [
        "  Zoe\u0308  LEE ",
        "\uff3a\uff4f\xeb Lee",
        "Zo\xeb\xa0Lee",
        "Zo\xeb \u200bLee",
        "Zo\xeb Lee\ufe0f",
        "Zo\xeb L\u034fee",
        "\u3164Zo\xeb Lee",
        "Zo\xeb Lee\u2800",
        "Zo\xeb Lee\U000e0041",
        "Zo\xeb Lee\x00",
    ],
)
def test_a_name_that_looks_the_same_is_the_same_name(other: str) -> None:
    assert same_name("Zo\xeb Lee", other)


@pytest.mark.parametrize("other", ["Zo\xeb", "Zo\xebLee", "Zoe Lee", "Zo\xeb Lee 2", "", "\u674e"])
def test_names_that_look_different_are_two(other: str) -> None:
    assert not same_name("Zo\xeb Lee", other)
