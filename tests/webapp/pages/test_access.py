"""Who may see and do what."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db


def _pages():
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    one = fact(of, 1, now)
    names = ["fleet", "clusters", "pipeline", "account"]
    job_pages = ["job", "job-chart-strip"]
    return [
        *(reverse(name) for name in names),
        *(reverse(name, args=(of.cluster, of.job_id)) for name in job_pages),
        reverse("checkpoint", args=(of.cluster, of.job_id, 1, epoch_ms(one.trigger_time))),
        reverse("fleet-export"),
        reverse("job-checkpoints-export", args=(of.cluster, of.job_id)),
    ]


def test_viewers_see_every_page(viewer):
    for page in _pages():
        assert viewer.get(page).status_code == 200, page


def test_signing_in_leads_to_the_fleet(client, viewer):
    client.logout()
    answer = client.post(
        reverse("sign-in"), {"username": "vera", "password": "correct horse battery"}
    )
    assert (answer.status_code, answer.url) == (302, "/")


def test_a_wrong_password_says_so_without_saying_which_was_wrong(client, viewer):
    client.logout()
    answer = client.post(reverse("sign-in"), {"username": "vera", "password": "no"})
    assert b"correct username and password" in answer.content


def test_signing_in_never_leads_to_another_site(client, viewer):
    client.logout()
    answer = client.post(
        reverse("sign-in"),
        {"username": "vera", "password": "correct horse battery", "next": "https://evil.example/"},
    )
    assert answer.url == "/"


def test_viewers_may_not_make_weir_connect_anywhere(viewer):
    assert (
        viewer.post(
            reverse("cluster-add"), {"name": "x", "url": "http://127.0.0.1:1", "test": "1"}
        ).status_code
        == 403
    )
    assert b"Add a cluster" not in viewer.get(reverse("clusters")).content


def test_what_is_not_there_is_said_on_a_page(viewer):
    answer = viewer.get(reverse("job", args=("prod-eu", "abc")))
    assert answer.status_code == 404
    assert b"No job abc was ever seen" in answer.content


def test_pages_carry_a_policy_without_inline_code(viewer):
    policy = viewer.get(reverse("fleet")).headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
