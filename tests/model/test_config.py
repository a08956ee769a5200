from __future__ import annotations

import pytest
from pydantic import ValidationError

from helix.model.config import SamplingConfig


def test_more_replicates_than_anybody_waits_for_are_refused() -> None:
    assert SamplingConfig(replicates=10_000).replicates == 10_000
    for number in (10_001, 10**26):
        with pytest.raises(ValidationError, match="less than or equal to 10000"):
            SamplingConfig(replicates=number)
