"""The clusters page."""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.builders import cluster
from webapp.accounts.models import AuditEntry
from webapp.fleet.models import Cluster
from webapp.fleet.sign_ins import JOBMANAGER, PROMETHEUS

pytestmark = pytest.mark.django_db
ENTERED = {
    "name": "lab",
    "auth_scheme": "",
    "log_layout": "flink",
    "time_zone": "UTC",
    "metrics_interval_s": "30",
    "verify_tls": "on",
}


class _JobManager(BaseHTTPRequestHandler):
    """Answers what a freshly started, idle JobManager answers."""

    answers = {
        "/overview": {
            "taskmanagers": 1,
            "slots-total": 4,
            "slots-available": 4,
            "jobs-running": 0,
            "flink-version": "1.20.5",
        },
        "/jobs/overview": {"jobs": []},
        "/taskmanagers": {"taskmanagers": []},
    }

    def do_GET(self):
        body = self.answers.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write(
            json.dumps(body if body is not None else {"errors": ["Not found"]}).encode()
        )

    def log_message(self, *args):
        pass


@pytest.fixture
def jobmanager():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _JobManager)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_connection_test_says_what_it_sees_and_stores_nothing(operator, jobmanager):
    page = operator.post(reverse("cluster-add"), {**ENTERED, "url": jobmanager, "test": "1"})
    assert "1.20.5" in page.content.decode()
    assert page.context["report"].reachable
    assert not Cluster.objects.exists()


def tried() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


@pytest.mark.parametrize(
    ("field", "entered", "told"),
    [
        ("url", "http://127.0.0.1:9/flink?token=hunter2#hunter2", "http://127.0.0.1:9/flink"),
        ("url", "http://olga:hunter2@127.0.0.1:9", "http://127.0.0.1:9"),
        ("url", "http://olga:hunt/er?2#hunter2@127.0.0.1:9/x", "http://127.0.0.1:9/x"),
        ("url", "olga:hunter2@http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("url", "olga:hunter2@127.0.0.1", "127.0.0.1"),
        ("history_url", "gopher://hunter2@[::1", "gopher://[::1"),
        ("prometheus_url", "http://127.0.0.1:9/?password=hunter2", "http://127.0.0.1:9/"),
        ("log_store_url", "http://hunter2@127.0.0.1:9", "http://127.0.0.1:9"),
        ("namenode_jmx_url", "http://127.0.0.1:9/jmx", "http://127.0.0.1:9/jmx"),
        (
            "log_globs",
            "/no/such/a?.log\ns3://key:hunter2@bucket/*.log",
            "/no/such/a?.log, s3://bucket/*.log",
        ),
    ],
)
def test_the_audit_log_says_which_address_was_tried_and_that_its_name_was_typed(
    operator, monkeypatch, field, entered, told
):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    operator.post(reverse("cluster-add"), {**ENTERED, field: entered, "test": "1"})
    assert tried().details[field] == told
    assert (tried().subject, tried().details["name_as_typed"]) == (
        "lab (as typed)",
        "lab",
    ) and "name" not in tried().details
    assert "hunter2" not in repr(AuditEntry.objects.values().get())


def test_the_audit_log_says_which_address_of_a_registered_cluster_was_tried(operator):
    cluster("prod", at=timezone.now(), url="http://127.0.0.1:9", log_globs=["/no/such/*.log"])
    operator.post(reverse("cluster-test", args=["prod"]))
    assert (tried().subject, tried().details) == (
        "prod",
        {"url": "http://127.0.0.1:9", "log_globs": "/no/such/*.log"},
    )
    operator.post(
        reverse("cluster-edit", args=["prod"]),
        {**ENTERED, "name": "another", "url": "http://127.0.0.1:10", "test": "1"},
    )
    assert tried().subject == "prod"
    assert (tried().details["name_as_typed"], tried().details["url"]) == (
        "another",
        "http://127.0.0.1:10",
    )


def test_the_audit_log_says_whom_an_added_cluster_asked_also_where_nothing_came_of_it(operator):
    operator.post(reverse("cluster-add"), {**ENTERED, "url": "http://127.0.0.1:9"})
    assert (tried().subject, tried().details["name"], tried().details["url"]) == (
        "lab",
        "lab",
        "http://127.0.0.1:9",
    )


def test_addresses_of_what_sends_notices_are_not_in_the_audit_log(operator):
    endpoint = {
        "name": "on call",
        "format": "weir",
        "url": "https://8.8.8.8/hook",
        "min_severity": "warning",
        "matchers": "",
    }
    operator.post(reverse("endpoint-add"), endpoint)
    assert tried().action == "endpoint.add" and "8.8.8.8" not in repr(
        AuditEntry.objects.values().get()
    )


def test_a_cluster_that_does_not_answer_can_be_added_all_the_same_and_says_why(operator):
    answer = operator.post(
        reverse("cluster-add"), {**ENTERED, "url": "http://127.0.0.1:9"}, follow=True
    )
    assert Cluster.objects.get().url == "http://127.0.0.1:9"
    assert "127.0.0.1:9" in answer.content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "file:///etc/passwd"),
        ("url", "gopher://x"),
        ("url", "http://user:secret@jm:8081"),
        ("url", "http://"),
        ("url", ""),
        ("name", "../etc"),
        ("name", "a b"),
        ("name", ""),
        ("time_zone", "Mars/Base"),
        ("metrics_interval_s", "0"),
        ("auth_scheme", "bearer"),
        ("auth_scheme", "basic"),
        ("ca_file", "/no/such/file.pem"),
        ("client_key_file", "/etc/hostname"),
    ],
)
def test_what_makes_no_sense_is_refused_beside_its_field(operator, field, value):
    page = operator.post(
        reverse("cluster-add"), {**ENTERED, "url": "http://127.0.0.1:9", field: value}
    )
    assert page.status_code == 200
    assert page.context["form"].errors
    assert not Cluster.objects.exists()


def test_a_secret_is_stored_encrypted_and_never_shown_again(operator, jobmanager):
    operator.post(
        reverse("cluster-add"),
        {**ENTERED, "url": jobmanager, "auth_scheme": "bearer", "secret": "canary-token"},
    )
    stored = Cluster.objects.get()
    assert "canary-token" not in stored.auth_secret_encrypted
    assert stored.source().auth.secret == "canary-token"
    for page in (
        reverse("clusters"),
        reverse("cluster-edit", args=("lab",)),
        reverse("api-clusters-list"),
    ):
        body = operator.get(page).content.decode()
        assert "canary-token" not in body and stored.auth_secret_encrypted not in body


def test_an_empty_secret_keeps_the_stored_one_and_a_tick_removes_it(operator):
    known = cluster("lab", at=timezone.now(), auth_scheme="bearer")
    JOBMANAGER.store(known, "kept")
    known.save()
    entered = {**ENTERED, "url": "http://127.0.0.1:9", "auth_scheme": "bearer", "secret": ""}
    operator.post(reverse("cluster-edit", args=("lab",)), entered)
    assert Cluster.objects.get().source().auth.secret == "kept"
    operator.post(
        reverse("cluster-edit", args=("lab",)),
        {**entered, "auth_scheme": "", "forget_secret": "on"},
    )
    assert not Cluster.objects.get().auth_secret_encrypted


@pytest.fixture
def stranger():
    """Another server, which notes with what it is asked."""
    asked = []

    class Noting(_JobManager):
        def do_GET(self):
            asked.append((self.path, self.headers.get("Authorization")))
            super().do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


@pytest.mark.parametrize("field", ["url", "history_url"])
@pytest.mark.parametrize("button", [{"test": "1"}, {}], ids=["test", "save"])
@pytest.mark.parametrize(
    ("scheme", "user"), mostly_long([("bearer", ""), ("basic", "ops")], spread=True)
)
def test_a_stored_secret_does_not_go_with_a_changed_address(
    operator, jobmanager, stranger, field, button, scheme, user
):
    known = cluster("lab", at=timezone.now(), url=jobmanager, auth_scheme=scheme, auth_user=user)
    JOBMANAGER.store(known, "canary-token")
    known.save()
    url, asked = stranger
    entered = {
        **ENTERED,
        "url": jobmanager,
        "auth_scheme": scheme,
        "auth_user": user,
        field: url,
        "secret": "",
        **button,
    }
    page = operator.post(reverse("cluster-edit", args=("lab",)), entered)
    assert "enter the secret again" in str(page.context["form"].errors["secret"])
    assert not asked
    assert (Cluster.objects.get().url, Cluster.objects.get().history_url) == (jobmanager, "")
    operator.post(reverse("cluster-edit", args=("lab",)), {**entered, "secret": "entered-again"})
    assert not button or asked  # with the secret entered it is asked
    assert "canary" not in str(asked)


@pytest.mark.parametrize(
    "moved",
    [
        "https://127.0.0.1:9",
        "http://127.0.0.2:9",
        "http://127.0.0.1:10",
        "http://127.0.0.1",
        "http://localhost:9",
        "http://127.0.0.1.:10",
    ],
)
def test_another_scheme_host_or_port_is_another_address(operator, moved):
    known = cluster("lab", at=timezone.now(), url="http://127.0.0.1:9", auth_scheme="bearer")
    JOBMANAGER.store(known, "kept")
    known.save()
    page = operator.post(
        reverse("cluster-edit", args=("lab",)),
        {**ENTERED, "url": moved, "auth_scheme": "bearer", "secret": ""},
    )
    assert page.status_code == 200 and "secret" in page.context["form"].errors


@pytest.mark.parametrize("same", ["http://127.0.0.1:9/proxy/", "HTTP://127.0.0.1:9"])
def test_another_path_or_spelling_of_the_same_address_keeps_it(operator, same):
    known = cluster(
        "lab",
        at=timezone.now(),
        url="http://127.0.0.1:9",
        history_url="http://127.0.0.1:8",
        auth_scheme="bearer",
    )
    JOBMANAGER.store(known, "kept")
    known.save()
    entered = {
        **ENTERED,
        "url": same,
        "history_url": "http://127.0.0.1:9",
        "auth_scheme": "bearer",
        "secret": "",
    }
    assert operator.post(reverse("cluster-edit", args=("lab",)), entered).status_code == 302
    assert Cluster.objects.get().source().auth.secret == "kept"


def test_the_secret_of_its_prometheus_is_stored_encrypted_and_never_shown(operator):
    there = {
        "prometheus_url": "http://127.0.0.1:9",
        "prometheus_auth_scheme": "basic",
        "prometheus_auth_user": "weir",
    }
    operator.post(
        reverse("cluster-add"),
        {**ENTERED, **there, "prometheus_secret": "canary-token", "prometheus_tenant": "team-a"},
    )
    stored = Cluster.objects.get()
    assert stored.source().auth is None
    assert (stored.source().prometheus.auth.secret, stored.source().prometheus.tenant) == (
        "canary-token",
        "team-a",
    )
    for page in (
        reverse("clusters"),
        reverse("cluster-edit", args=("lab",)),
        reverse("api-clusters-list"),
    ):
        body = operator.get(page).content.decode()
        assert "canary-token" not in body and stored.prometheus_secret_encrypted not in body


def test_the_secret_of_its_prometheus_does_not_go_with_a_changed_address(operator, stranger):
    known = cluster(
        "lab",
        at=timezone.now(),
        prometheus_url="http://127.0.0.1:9",
        prometheus_auth_scheme="bearer",
    )
    PROMETHEUS.store(known, "canary-token")
    known.save()
    url, asked = stranger
    entered = {
        **ENTERED,
        "prometheus_url": url,
        "prometheus_auth_scheme": "bearer",
        "prometheus_secret": "",
    }
    page = operator.post(reverse("cluster-edit", args=("lab",)), entered)
    assert "enter the secret again" in str(page.context["form"].errors["prometheus_secret"])
    assert not asked
    kept = {
        **entered,
        "prometheus_url": "http://127.0.0.1:9/prometheus",
        "prometheus_tenant": "a|b",
    }
    operator.post(reverse("cluster-edit", args=("lab",)), kept)
    assert Cluster.objects.get().source().prometheus.auth.secret == "canary-token"
    operator.post(
        reverse("cluster-edit", args=("lab",)),
        {**kept, "prometheus_auth_scheme": "", "prometheus_forget_secret": "on"},
    )
    assert not Cluster.objects.get().prometheus_secret_encrypted


def test_a_tenant_that_would_be_more_than_a_name_is_refused(operator):
    entered = {
        **ENTERED,
        "prometheus_url": "http://127.0.0.1:9",
        "prometheus_tenant": "a\r\nX-Other: b",
    }
    assert (
        "prometheus_tenant" in operator.post(reverse("cluster-add"), entered).context["form"].errors
    )


def test_a_replaced_cluster_is_asked_with_what_was_given_now(jobmanager, stranger, monkeypatch):
    known = cluster("lab", at=timezone.now(), url=jobmanager, auth_scheme="bearer")
    JOBMANAGER.store(known, "canary-token")
    known.save()
    url, asked = stranger
    call_command("add_cluster", "lab", url, "--replace", stdout=io.StringIO())
    monkeypatch.setenv("WEIR_CLUSTER_SECRET", "given-now")
    call_command("add_cluster", "lab", url, "--replace", "--auth", "bearer", stdout=io.StringIO())
    assert asked and "canary" not in str(asked)


def test_a_change_never_renames(operator):
    cluster("lab", at=timezone.now())
    operator.post(
        reverse("cluster-edit", args=("lab",)),
        {**ENTERED, "name": "other", "url": "http://127.0.0.1:7"},
    )
    assert [(c.name, c.url) for c in Cluster.objects.all()] == [("lab", "http://127.0.0.1:7")]


def test_pausing_and_resuming(operator):
    cluster("lab", at=timezone.now())
    operator.post(reverse("cluster-pause", args=("lab",)), {"pause": "1"})
    assert not Cluster.objects.get().enabled
    operator.post(reverse("cluster-pause", args=("lab",)), {"resume": "1"})
    assert Cluster.objects.get().enabled


def test_removing_needs_the_name_typed(operator):
    cluster("lab", at=timezone.now())
    operator.post(reverse("cluster-remove", args=("lab",)), {"name": "la"})
    assert Cluster.objects.exists()
    operator.post(reverse("cluster-remove", args=("lab",)), {"name": "lab"})
    assert not Cluster.objects.exists()


def test_what_cannot_be_seen_comes_first_with_its_reason(viewer):
    now = timezone.now()
    cluster("a-good", at=now)
    cluster("z-dark", at=now, unreachable_since=now, last_error="<b>connection refused</b>")
    page = viewer.get(reverse("clusters"))
    assert [found.name for found, _badge in page.context["rows"]] == ["z-dark", "a-good"]
    assert "&lt;b&gt;connection refused" in page.content.decode()
