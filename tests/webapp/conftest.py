"""People who look at pages."""

from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from django.core.cache import cache
from django.test import Client

from tests.webapp.builders import person
from webapp.charts import answers


@pytest.fixture(autouse=True)
def nothing_cached() -> None:
    """What a test before has cached for some seconds is not of this one's rows."""
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def every_figure_follows_plotlys_schema() -> Iterator[None]:
    in_shown_zone = answers.in_shown_zone

    def checked(figure: answers.Figure) -> answers.Figure:
        go.Figure(figure)
        return in_shown_zone(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "in_shown_zone", checked)
        yield


@pytest.fixture
def viewer(db: None, client: Client) -> Client:
    client.force_login(person())
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(person("olga", operator=True))
    return client
