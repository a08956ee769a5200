"""Helix adjudicates what an LLM agent did: verdicts that never outrun their evidence."""

__version__ = "0.1.0"
