"""Discovery: criteria that emerge from traces, with the evidence that they came from."""

from helix.discover.discovered import Discovered
from helix.discover.run import discover, planned

__all__ = ["Discovered", "discover", "planned"]
