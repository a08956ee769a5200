"""Validation: a judge's verdicts against people's labels, and what its word is worth since."""

from helix.validate.measure import measure, status_of
from helix.validate.run import Validated, validate
from helix.validate.splits import split_of

__all__ = ["Validated", "measure", "split_of", "status_of", "validate"]
