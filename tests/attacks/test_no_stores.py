"""Somebody who may enter a place names one of fsspec's file systems that is no storage: it opens
other files, or cannot be opened at all.

Behind each door that takes a path or an address that is a refusal in words, by the field; where
something else cannot be opened, a report that says so.
"""

import io
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from fsspec.registry import known_implementations

from ingest.flink_logs.files import find
from ingest.local_directories import NO_STORES, NotAllowed, refusal_of_entry, refusal_of_tree
from ingest.storage.directories import directories
from tests.attacks.scale import examples
from tests.webapp.builders import cluster, job, person
from webapp.accounts.models import User
from webapp.fleet.models import Cluster
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
STORES = {
    "abfs",
    "adl",
    "arrow_hdfs",
    "az",
    "file",
    "ftp",
    "gcs",
    "gs",
    "hdfs",
    "http",
    "https",
    "lakefs",
    "local",
    "memory",
    "oci",
    "ocilake",
    "oss",
    "root",
    "s3",
    "s3a",
    "sftp",
    "smb",
    "ssh",
    "swebhdfs",
    "tos",
    "tosfs",
    "webdav",
    "webhdfs",
}
NAMED = [
    "dir",
    "reference",
    "asyncwrapper",
    "async_wrapper",
    "generic",
    "zip",
    "tar",
    "github",
    "DIR",
]
OUT_OF_REACH = [
    "s3://x/y",
    "adl://x/y",
    "nosuch://x/y",
    "smb://x/y",
    "gs://x",
    "://x",
    "s3://",
    "hdfs://[x/y",
]
"""Stores whose library or credentials are missing here, and what is none."""
NOW = datetime(2026, 11, 23, tzinfo=UTC)
ENTERED = {
    "name": "lab",
    "log_layout": "flink",
    "time_zone": "UTC",
    "metrics_interval_s": "30",
    "verify_tls": "on",
}
PLACES = ("log_globs",)
ADDRESSES = ("url", "history_url", "prometheus_url", "log_store_url", "namenode_jmx_url")
OPTIONS = {"log_globs": "--logs"}


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def admin(db: None) -> Client:
    ada, client = person("ada"), Client()
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    client.force_login(ada)
    return client


def of_cluster(field: str, uri: str) -> dict[str, str]:
    beside = {} if field == "url" else {"url": "http://127.0.0.1:9"}
    store = (
        {"log_store_kind": "loki", "log_store_query": '{a="b"}'} if field == "log_store_url" else {}
    )
    return {**ENTERED, **beside, **store, field: uri}


def test_each_file_system_that_fsspec_knows_is_a_store_or_is_refused() -> None:
    assert set(known_implementations) - STORES == NO_STORES & set(known_implementations)
    assert not [scheme for scheme in STORES if refusal_of_tree(f"{scheme}://x")]


@pytest.mark.parametrize("scheme", sorted(NO_STORES)[:: examples(3, 1)])
def test_it_is_refused_where_it_is_entered_and_where_it_is_read(scheme: str) -> None:
    uri = f"{scheme}://x"
    assert refusal_of_entry(uri) and refusal_of_tree(uri)
    assert find([uri, f"{uri}/*.log"])[0] == [] and len(find([uri])[1]) == 1
    with pytest.raises(NotAllowed):
        directories(uri)


@pytest.mark.parametrize("uri", [uri for uri in OUT_OF_REACH if uri != "s3://"])
def test_what_cannot_be_opened_is_said_and_fails_nothing_else(uri: str) -> None:
    assert find([uri, f"{uri}/*.log"])[0] == [] and find([uri])[1]


@pytest.mark.parametrize(
    ("button", "field", "scheme"),
    [
        (button, field, NAMED[(2 * number + turn) % len(NAMED)])
        for number, field in enumerate((*PLACES, *ADDRESSES))
        for turn, button in enumerate(("save", "test"))
    ],
)
def test_a_form_of_a_cluster_refuses_it_by_its_field(
    admin: Client, button: str, field: str, scheme: str
) -> None:
    answer = admin.post(reverse("cluster-add"), {**of_cluster(field, f"{scheme}://x"), button: "1"})
    assert answer.status_code == 200 and set(answer.context["form"].errors) == {field}
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("uri", OUT_OF_REACH)
@pytest.mark.parametrize("field", ["log_globs"])
def test_a_connection_test_of_what_cannot_be_opened_is_a_report(
    admin: Client, field: str, uri: str
) -> None:
    answer = admin.post(reverse("cluster-add"), {**ENTERED, field: uri, "test": "1"})
    assert answer.status_code == 200
    report = answer.context["report"]
    assert answer.context["form"].errors or (not report.reachable and report.misses)


@pytest.mark.parametrize("field", PLACES)
def test_the_command_that_adds_a_cluster_refuses_it(field: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command(
            "add_cluster",
            "lab",
            "http://127.0.0.1:9",
            OPTIONS[field],
            "dir://x",
            "--untested",
            stdout=io.StringIO(),
        )
    assert refused.value.returncode == 2 and "dir://" in str(refused.value)
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    ("field", "scheme"),
    zip(("uri", "read_at", "quarantine_uri") * len(NAMED), NAMED, strict=False),
)
def test_a_form_of_a_root_refuses_it_by_its_field(admin: Client, field: str, scheme: str) -> None:
    entered = {
        "uri": "s3://bucket/new",
        "kind": "checkpoints",
        field: f"{scheme}://x/y",
    }
    answer = admin.post(reverse("storage-root-add"), entered)
    assert answer.status_code == 200 and set(answer.context["form"].errors) == {field}
    assert not StorageRoot.objects.exists()


@pytest.mark.parametrize("option", ["--read-at", "--quarantine", ""])
def test_the_command_that_adds_a_root_refuses_it(option: str) -> None:
    given = ["s3://bucket/new", option, "dir://x/y"] if option else ["dir://x/y"]
    with pytest.raises(CommandError) as refused:
        call_command("add_storage_root", *given, stdout=io.StringIO())
    assert refused.value.returncode == 2
    assert not StorageRoot.objects.exists()


@pytest.mark.parametrize(
    "uri", ["dir://x/y", "reference://x/y", "asyncwrapper://x/y", "generic://x/y"]
)
def test_no_copy_of_a_job_is_asked_for_there(admin: Client, uri: str) -> None:
    cluster("prod-eu", at=NOW)
    of = job("prod-eu", at=NOW)
    StorageRoot.objects.create(uri="s3://bucket/flink")
    answer = admin.post(
        reverse("replication-ask", args=["prod-eu", of.job_id]),
        {"destination": uri, "every_s": "300"},
    )
    assert answer.status_code == 302
    for option in ([uri], ["s3://bucket/copies", "--read-at", uri]):
        with pytest.raises(CommandError) as refused:
            call_command(
                "replicate",
                "prod-eu",
                of.job_id,
                *option,
                "--source",
                "s3://bucket/flink/a",
                "--show",
                stdout=io.StringIO(),
            )
        assert refused.value.returncode == 2
    assert not Replica.objects.exists()


@pytest.mark.parametrize("uri", [*OUT_OF_REACH, *(f"{scheme}://x" for scheme in NAMED)])
def test_saving_it_past_a_form_is_refused_or_kept_and_raises_nothing_else(uri: str) -> None:
    for field in PLACES:
        row = Cluster(
            name="lab",
            url="http://127.0.0.1:9",
            **{field: [uri] if field.endswith("globs") else uri},
        )
        try:
            row.full_clean()
        except ValidationError as error:
            assert field in error.message_dict
