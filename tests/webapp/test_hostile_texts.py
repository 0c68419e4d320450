"""Texts and numbers that a form or an address may carry and no database, calendar or file system
takes. Played on PostgreSQL, too.
"""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, person
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
NUL, ENDLESS, BEYOND = "\x00", "\U0001f984" * 1_000, "99999999999999999999"
WINDOW = {"matchers": 'cluster="x"', "reason": "r", "hours": "2"}


@pytest.fixture
def admin() -> Client:
    user = person("ada")
    user.is_superuser = user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("uid", [NUL, f"alr_{NUL}", ENDLESS])
@pytest.mark.parametrize("name", ["only", "uid"])
@pytest.mark.parametrize("take_back", [True, False])
def test_acknowledging_what_has_no_such_name_does_nothing(
    operator: Client, uid: str, name: str, take_back: bool
) -> None:
    told = {name: uid, **({"take_back": "1"} if take_back else {})}
    assert operator.post(reverse("alerts-acknowledge"), told).status_code == 302


@pytest.mark.parametrize("tail", ["", "replay/"])
@pytest.mark.parametrize("uid", ["%00", "msg_%00", "%F0%9F%A6%84"])
def test_a_delivery_of_such_a_name_is_not_there(operator: Client, uid: str, tail: str) -> None:
    method = operator.post if tail.startswith("replay") else operator.get
    assert method(f"/alerts/deliveries/{uid}/{tail}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/findings/{}/",
        "/pipeline/runs/{}/",
        "/alerts/endpoints/{}/",
        "/storage/plans/{}/",
        "/storage/roots/{}/",
        "/jobs/{0}/",
        "/jobs/{0}/{0}/",
        "/jobs/prod-eu/{0}/checkpoints/{0}/{0}/",
        "/api/v1/silences/{}/",
        "/api/v1/cleanup-plans/{}/",
        "/api/v1/endpoints/{}/",
        "/api/v1/jobs/{0}/{0}/",
        "/clusters/{}/",
        "/rules/{}/",
    ],
)
@pytest.mark.parametrize("number", [BEYOND, "9223372036854775808", "9" * 5_000])
def test_a_number_beyond_every_row_names_nothing(operator: Client, path: str, number: str) -> None:
    assert operator.get(path.format(number)).status_code == 404


@pytest.mark.parametrize(
    "start",
    [
        "9999-12-31 23:59",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01 00:00",
        "0001-01-01T00:00:00+14:00",
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "silence-new",
    ],
)
def test_a_start_at_either_end_of_the_calendar_is_taken_or_refused(
    operator: Client, name: str, start: str
) -> None:
    weekly = {"weekday": "0", "time_of_day": "23:59"}
    for told in (
        {"starts_at": start},
        {"starts_at": start, **weekly},
        {"starts_at": start, "ends_at": start},
    ):
        assert operator.post(reverse(name), {**WINDOW, **told}).status_code in (200, 302)
    for page in ("silences",):
        assert operator.get(reverse(page)).status_code == 200


@pytest.mark.parametrize(
    "field",
    [
        "ca_file",
        "client_cert_file",
        "client_key_file",
        "log_globs",
    ],
)
@pytest.mark.parametrize(
    "path", ["/" + "\U0001f984" * 200, f"/{ENDLESS}", f"/a{NUL}b", "/" + "a/" * 3_000]
)
def test_a_file_that_no_file_system_could_hold_is_refused(
    operator: Client, field: str, path: str
) -> None:
    one = cluster(at=timezone.now())
    told = {
        "name": one.name,
        "url": one.url,
        "auth_scheme": "none",
        "time_zone": "UTC",
        "metrics_interval_s": "60",
        "log_layout": "",
    }
    assert operator.post(
        reverse("cluster-edit", args=(one.name,)), {**told, field: path}
    ).status_code in (200, 302)
    assert Cluster.objects.get().ca_file == ""
