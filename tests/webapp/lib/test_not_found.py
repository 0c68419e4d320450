"""What is said where nothing is found: what was looked for, where to go on, and nothing of what the
reader may not see.
"""

import ast
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import webapp
from tests.webapp.builders import cluster, finding, job, person
from webapp.lib import grants
from webapp.lib.not_found import KINDS

pytestmark = pytest.mark.django_db


def test_every_row_that_is_asked_for_by_its_address_has_words_and_a_list():
    asked = set()
    for path in Path(webapp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "get_object_or_404":
                root = node.args[0]
                while isinstance(root, ast.Call | ast.Attribute):
                    root = root.func if isinstance(root, ast.Call) else root.value
                asked.add(getattr(root, "id", ""))
    models = {model.__name__ for model in apps.get_models()}
    assert len(asked & models) > 10 and asked & models <= set(KINDS) <= models
    assert all(reverse(kind.listed) for kind in KINDS.values())


@pytest.mark.parametrize(
    ("path", "said", "list_path"),
    [
        ("/clusters/nowhere/", "There is no cluster nowhere:", "/clusters/"),
        ("/findings/4711/", "There is no finding 4711:", "/findings/"),
        ("/alerts/alr_" + "a" * 26, "There is no alert alr_", "/alerts/"),
        ("/reports/rep_" + "a" * 26 + "/", "There is no report rep_", "/reports/"),
        ("/nothing", "There is nothing at this address.", "/"),
    ],
)
def test_a_page_says_what_is_not_there_and_links_the_list(operator, path, said, list_path):
    answer = operator.get(path)
    page = answer.content.decode()
    assert answer.status_code == 404 and said in page and f'href="{list_path}"' in page
    assert "matches the given query" not in page and "Resolver404" not in page


def test_the_api_says_what_is_not_there(viewer):
    answer = viewer.get("/api/v1/findings/4711/")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"].startswith(
        "There is no finding 4711: it never existed, was removed"
    )


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
            assert there.content.decode().replace(str(theirs.pk), "4711") == never.content.decode()
        else:
            assert (
                there.context["sentence"].replace(str(theirs.pk), "4711")
                == never.context["sentence"]
            )
