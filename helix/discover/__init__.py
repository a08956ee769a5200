"""Discovery: criteria that emerge from traces, with the evidence that they came from."""

from helix.discover.run import Discovered, discover, planned

__all__ = ["Discovered", "discover", "planned"]
