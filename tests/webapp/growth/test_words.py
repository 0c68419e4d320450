"""When a limit is reached, in words."""

import pytest
from django.utils import translation

from webapp.growth.views import until_text


@pytest.mark.parametrize(
    ("days", "english", "chinese"),
    [
        (0, "already reached", "已达到"),
        (None, "not at this slope", "按此斜率不会"),
    ],
)
def test_what_is_left_until_a_limit_is_said_in_the_language_that_is_asked_for(
    days, english, chinese
):
    assert until_text(days) == english
    with translation.override("zh-hans"):
        assert until_text(days) == chinese
