from __future__ import annotations

import pytest
from pydantic import ValidationError

from helix.model.config import Config, SamplingConfig


def test_more_replicates_than_anybody_waits_for_are_refused() -> None:
    assert SamplingConfig(replicates=10_000).replicates == 10_000
    for number in (10_001, 10**26):
        with pytest.raises(ValidationError, match="less than or equal to 10000"):
            SamplingConfig(replicates=number)


@pytest.mark.parametrize(
    ("section", "key"),
    [("judge", "seed"), ("limits", "max_calls"), ("limits", "rate"), ("sampling", "n")],
)
@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_no_numbers(section: str, key: str, value: bool) -> None:
    with pytest.raises(ValidationError, match="other than true or false"):
        Config.model_validate({section: {key: value}})


def test_what_is_yes_or_no_may_be_true() -> None:
    assert Config.model_validate({"run": {"dry": True}}).run.dry
