"""How findings word figures."""

import pytest

from ingest.messages import share_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0003, "< 0.1 %"),
        (0.314, "31.4 %"),
        (0.9994, "99.9 %"),
        (0.9997, "> 99.9 %"),
        (1, "100 %"),
        (1.2, "120 %"),
    ],
)
def test_only_all_is_a_hundred_percent_and_only_nothing_none(share: float, text: str) -> None:
    assert share_text(share) == text
