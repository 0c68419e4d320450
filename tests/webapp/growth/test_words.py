"""When a limit is reached, in words."""

import pytest
from django.utils import translation

from webapp.growth.trends import Until
from webapp.growth.views import until_text


@pytest.mark.parametrize(
    ("until", "english", "chinese"),
    [
        (Until(40, 30, 55), "in 40 days (30 to 55)", "40 天后（30 至 55）"),
        (Until(1, 0, None), "in 1 day (0 to later than ten years)", "1 天后（0 至 十年以后）"),
        (Until(None, 3, None), "in 3 days at the soonest", "最早 3 天后"),
        (Until(0, 0, 0), "already reached", "已达到"),
        (Until(), "not at this slope", "按此斜率不会"),
    ],
)
def test_what_is_left_until_a_limit_is_said_in_the_language_that_is_asked_for(
    until, english, chinese
):
    assert until_text(until) == english
    with translation.override("zh-hans"):
        assert until_text(until) == chinese
