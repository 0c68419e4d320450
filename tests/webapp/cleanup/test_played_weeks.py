"""Whatever weeks of Flink, of operators and of other Weirs bring, nothing goes that is needed."""

from pathlib import Path

import pytest

from tests.attacks.scale import examples
from tests.webapp.cleanup.played_weeks import play
from tests.webapp.cleanup.test_whole import home

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


SOME_GOES = 502


@pytest.mark.parametrize("seed", range(1, 1 + examples(1, 200)))
def test_nothing_goes_that_somebody_needs(home: Path, seed: int) -> None:
    play(home, seed)


def test_what_nobody_needs_goes(home: Path) -> None:
    assert play(home, SOME_GOES).counts["purge files"]
