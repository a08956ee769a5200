"""Validation: a judge's verdicts against people's labels, and what its word is worth since."""

from helix.model.splits import split_of
from helix.validate.measure import measure, status_of
from helix.validate.run import Validated, validate

__all__ = ["Validated", "measure", "split_of", "status_of", "validate"]
