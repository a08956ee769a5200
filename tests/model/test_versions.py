"""A file of a shape with a schemaVersion: what is damaged or of another major version is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix.errors import ArtifactError
from helix.model.lines import of_version, read_page


class Shape(msgspec.Struct, rename="camel"):
    """A shape of a test."""

    schema_version: str
    size: int


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "here is damaged: .*; remove it"),
        ("[]", "here is damaged: .*; remove it"),
        ('{"schemaVersion":1}', "here is damaged: .*; remove it"),
        ('{"schemaVersion":"2.0","size":1}',
         r"here must have schemaVersion 1\.0 \(got 2\.0\): again"),
        ('{"schemaVersion":"10.0","size":1}', r"got 10\.0"),
    ],
)  # fmt: skip
def test_what_is_no_such_shape_or_of_another_version_is_told(text: str, told: str) -> None:
    with pytest.raises(ArtifactError, match=told):
        of_version("here", text.encode(), Shape, "1.0", damaged="; remove it", other=": again")


def test_a_later_minor_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "shape.json"
    file.write_text('{"schemaVersion":"1.7","size":4}', encoding="utf-8")
    assert read_page(file, Shape, "1.0").size == 4


def test_a_file_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"damaged: .*; remove it"):
        read_page(tmp_path, Shape, "1.0", damaged="; remove it")
