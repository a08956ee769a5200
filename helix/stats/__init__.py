"""Intervals and agreement; what needs scipy or statsmodels loads it when it is called."""

from helix.stats.intervals import clustered_size, wilson

__all__ = ["clustered_size", "wilson"]
