"""Bytes become traces: find the files, tell the format, read record by record."""

from helix.ingest.canonical import from_dict
from helix.ingest.detection import detect
from helix.ingest.identity import normalised_id
from helix.ingest.source import Input, read

__all__ = ["Input", "detect", "from_dict", "normalised_id", "read"]
