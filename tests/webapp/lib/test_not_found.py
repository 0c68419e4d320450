"""What is said where nothing is found, and nothing of what the reader may not see."""

import pytest
from django.test import Client
from django.utils import timezone

from tests.webapp.builders import cluster, finding, job, person
from webapp.lib import grants

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/clusters/nowhere/", "it never existed, was removed, or you may not see it."),
        ("/nothing", "There is nothing at this address."),
    ],
)
def test_a_page_says_that_nothing_is_there(operator, path, said):
    answer = operator.get(path)
    page = answer.content.decode()
    assert answer.status_code == 404 and said in page
    assert "matches the given query" not in page and "Resolver404" not in page


def test_a_row_out_of_scope_and_one_that_never_was_are_answered_alike():
    now = timezone.now()
    cluster("ours", at=now)
    of = job("theirs", at=now)
    theirs = finding(of, at=now)
    somebody = person("sam")
    somebody.sees = grants.as_json(grants.parse('cluster="ours"'))
    somebody.save()
    client = Client()
    client.force_login(somebody)
    for door in ("/findings/{}/", "/api/v1/findings/{}/"):
        there, never = (client.get(door.format(pk)) for pk in (theirs.pk, 4711))
        assert there.status_code == never.status_code == 404
        if door.startswith("/api"):
            assert there.content == never.content
        else:
            assert there.context["sentence"] == never.context["sentence"]
