"""Lists of the API: access, filters, paging, one form of errors."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.builders import (
    T0,
    annotation,
    cluster,
    event,
    exception,
    expired,
    fact,
    finding,
    job,
    person,
    unsaved_fact,
    window,
)
from tests.webapp.hosts.builders import host_event, runs_on, taskmanager
from tests.webapp.storage.builders import root, whole_audit
from webapp.accounts.models import ApiToken
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.fleet.sign_ins import JOBMANAGER
from webapp.pressure.models import VertexHour

pytestmark = pytest.mark.django_db
LISTS = (
    "clusters",
    "jobs",
    "checkpoints",
    "rollups",
    "checkpoint-uploads",
    "size-trends",
    "pressure-windows",
    "vertex-hours",
    "log-events",
    "exceptions",
    "annotations",
    "findings",
    "host-events",
    "job-hosts",
    "taskmanager-lives",
    "storage-roots",
    "storage-audits",
    "storage-root-figures",
    "storage-verdicts",
    "storage-jobs",
    "storage-checkpoints",
    "storage-chains",
    "storage-missing",
    "storage-doubts",
    "storage-statements",
)


def url(name):
    return reverse(f"api-{name}-list")


def everything():
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    fact(of, 1, now)
    window(of, "v1", now)
    event(of, "late_message", now)
    exception(of, now)
    annotation(of, "restart", now, "restart 1")
    finding(of, "pressure.root", now)
    runs_on("host-0", of, now)
    host_event("host-0", of, "decline", now)
    taskmanager("tm-1", "host-0", now)
    counts = {
        f"{outcome}_count": 0
        for outcome in (
            "completed",
            "declined",
            "expired",
            "subsumed",
            "aborted",
            "failed",
            "preflight",
        )
    }
    keys = {"cluster": of.cluster, "job_id": of.job_id, "as_of": now}
    CheckpointRollup.objects.create(
        **keys, **counts, in_progress_count=0, savepoint_count=0, period="hour", period_start=now
    )
    SizeTrend.objects.create(**keys)
    VertexHour.objects.create(**keys, vertex_id="v1", period_start=now, windows=1)
    CheckpointUpload.objects.create(**keys, checkpoint_id=1, trigger_time=now)
    root()
    whole_audit(as_of=now)
    return of


@pytest.mark.parametrize("name", LISTS)
def test_every_list_answers_its_row_without_our_row_number(api, name):
    everything()
    answer = api.get(url(name)).json()
    assert len(answer["results"]) == 1
    # By its number a finding is asked for; others mean nothing outside.
    assert ("id" in answer["results"][0]) == (name == "findings")
    assert (answer["next"], answer["previous"]) == (None, None)


@pytest.mark.parametrize("name", LISTS)
def test_nobody_reads_without_signing_in(client, name):
    answer = client.get(url(name))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize("name", LISTS)
def test_nothing_can_be_written(name):
    client = APIClient()
    client.credentials(
        HTTP_AUTHORIZATION=(
            f"Bearer {ApiToken.objects.issue(person('o', operator=True), 't', 'write')[1]}"
        )
    )
    for method in (client.post, client.put, client.patch, client.delete):
        answer = method(url(name), {}, format="json")
        assert answer.status_code == 405
        assert answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("text", ["", "weir_", "weir_nope", "\x00", "ünï"])
def test_a_wrong_token_is_refused(text):
    answer = APIClient().get(
        url("jobs"), headers={"Authorization": f"Bearer {text}".encode().decode("latin-1")}
    )
    assert answer.status_code == 401


def test_an_expired_token_is_refused():
    _token, text = ApiToken.objects.issue(
        person(), "old", expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert (
        APIClient().get(url("jobs"), headers={"Authorization": f"Bearer {text}"}).status_code == 401
    )


def test_a_session_of_the_pages_reads_too(client):
    client.force_login(person())
    assert client.get(url("jobs")).status_code == 200


def test_following_next_gives_every_checkpoint_once_newest_first(api):
    of = job(at=T0)
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, T0 + timedelta(minutes=n // 2)) for n in range(25)]
    )
    seen, link = [], f"{url('checkpoints')}?page_size=10"
    while link:
        answer = api.get(link).json()
        seen += [row["trigger_time"] for row in answer["results"]]
        link = answer["next"]
    assert len(seen) == 25
    assert seen == sorted(seen, reverse=True)


def test_filters_combine(api):
    of = job(at=T0)
    fact(of, 1, T0)
    expired(of, 2, T0 + timedelta(hours=1))
    expired(of, 3, T0 + timedelta(hours=5))
    asked = {
        "cluster": of.cluster,
        "job_id": of.job_id,
        "outcome": "expired",
        "to": (T0 + timedelta(hours=2)).isoformat(),
    }
    rows = api.get(url("checkpoints"), asked).json()["results"]
    assert [row["checkpoint_id"] for row in rows] == [2]
    assert rows[0]["not_acknowledged"][0]["subtasks"] == [0, 1, 2]


@pytest.mark.parametrize(
    "asked",
    [
        {"outcome": "nice"},
        {"checkpoint_id": "x"},
        {"checkpoint_id": "9" * 19},
        {"is_savepoint": "1"},
        {"from": "gestern"},
        {"page_size": "0"},
        {"page_size": "1001"},
        {"page_size": "²"},
        {"cursor": "x"},
        {"outcom": "expired"},
        {"cluster": "a\x00"},
    ],
)
def test_a_wrong_parameter_is_named_and_never_ignored(api, asked):
    answer = api.get(url("checkpoints"), asked)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "fields"}
    assert list(error["fields"]) == list(asked)


def test_one_job_comes_with_its_graph_and_its_status(api):
    now = timezone.now()
    cluster("dark", at=now, unreachable_since=now)
    of = job("dark", at=now)
    answer = api.get(reverse("api-job", args=(of.cluster, of.job_id))).json()
    assert answer["status"] == "UNKNOWN"
    assert answer["graph"]["vertices"][0]["name"] == "Source: clicks"
    assert "graph" not in api.get(url("jobs")).json()["results"][0]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/jobs/a/b/", "/api/v1/nothing", "/api/v1/clusters/none/", "/api/v1/jobs/a%00/b/"],
)
def test_what_is_not_there_is_answered_as_json(api, path):
    answer = api.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_a_cluster_is_told_without_anything_secret(api):
    row = cluster(at=timezone.now(), auth_scheme="basic", auth_user="ops")
    JOBMANAGER.store(row, "canary")
    row.save()
    body = api.get(url("clusters")).content.decode()
    assert "canary" not in body and row.auth_secret_encrypted not in body and "secret" not in body
