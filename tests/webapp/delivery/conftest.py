"""A receiver on loopback, and no broker: hints are only hints."""

from collections.abc import Iterator

import pytest

from tests.webapp.delivery.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found
