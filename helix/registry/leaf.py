"""One more file of a report: what a renderer yields beside the bytes of its own file."""

from __future__ import annotations

from typing import NamedTuple


class Leaf(NamedTuple):
    """A file in the folder beside a report, which is named as the report is, without its ending.

    `name` is a plain file name that no id chose. The folder appears as a whole, before the report.
    """

    name: str
    data: bytes
