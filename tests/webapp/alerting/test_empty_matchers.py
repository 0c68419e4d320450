"""A silence names something: what a matcher of a label accepts where nobody has that label is
everything.
"""

import pytest

from tests.webapp.alerting.builders import at, opened, somebody_listens, told
from tests.webapp.alerting.builders import look as look_at
from tests.webapp.builders import cluster, person
from webapp.alerting import actions
from webapp.delivery import endpoint_entry
from webapp.delivery.addresses import Policy
from webapp.delivery.endpoint_entry import EndpointEntry
from webapp.delivery.models import Endpoint
from webapp.lib.labels import OF_EACH_ALERT, matched_labels
from webapp.lib.matchers import parse_lines
from webapp.lib.refusals import InputRefused

pytestmark = pytest.mark.django_db
EVERYTHING = ('clutser!="test"', 'team=""', 'team=~"(a|b)?"', 'Cluster!~"test.*"', 'a=""\nb!="c"')
SOMETHING = ('severity!="critical"', 'job=""', 'team="a"', 'team!=""', 'a=""\ncluster!="b"')


def silence(lines: str) -> None:
    actions.silence(parse_lines(lines), at(0), at(3_600), "known", person("otto"), at(0))


@pytest.mark.parametrize("lines", EVERYTHING)
def test_a_silence_of_a_label_that_nobody_has_is_refused(lines: str) -> None:
    with pytest.raises(InputRefused, match="may be everything"):
        silence(lines)
    somebody_listens()
    opened()
    look_at(60)
    assert told()


@pytest.mark.parametrize("lines", SOMETHING)
def test_a_silence_that_names_something_is_taken(lines: str) -> None:
    silence(lines)


def enter(lines: str) -> Endpoint:
    endpoint = Endpoint()
    entered = EndpointEntry("pager", url="https://8.8.8.8/hook", matchers=parse_lines(lines))
    endpoint_entry.enter(endpoint, entered, Policy())
    return endpoint


@pytest.mark.parametrize("lines", EVERYTHING)
def test_so_is_an_endpoint_that_would_be_sent_everything_for_a_label_of_no_cluster(
    lines: str,
) -> None:
    with pytest.raises(InputRefused, match="No cluster has the label"):
        enter(lines)
    assert not Endpoint.objects.exists()


def test_an_endpoint_may_take_what_has_no_team_where_some_clusters_have_one() -> None:
    cluster("prod-us", at=at(0), labels={"team": "payments"})
    for name in ("", 'team=""', 'team!="payments"', *SOMETHING):
        assert enter(name).pk
        Endpoint.objects.all().delete()


def test_each_alert_has_these_labels() -> None:
    somebody_listens()
    opened()
    look_at(60)
    (alert,) = told()[0].alerts
    assert set(matched_labels(alert)) >= set(OF_EACH_ALERT)
