"""Datasets from runs: candidates, split by trace, that only grow; and tasks to fill in."""

from helix.build_dataset.build import Built, build
from helix.build_dataset.tuples import tuples

__all__ = ["Built", "build", "tuples"]
