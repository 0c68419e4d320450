"""``add_cluster`` and ``import_recording``: what a person types, what is said back, what is kept."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from webapp.fleet.connection_test import TestReport
from webapp.fleet.management.commands import add_cluster
from webapp.fleet.models import Cluster

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]
CANARY = "canary-4711"


def run(*words: str) -> str:
    said = StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()


def test_a_cluster_that_does_not_answer_is_not_registered() -> None:
    with pytest.raises(CommandError, match="is not registered") as refusal:
        run("add_cluster", "c", "http://127.0.0.1:9")
    assert refusal.value.returncode == 1
    assert not Cluster.objects.exists()


def test_a_cluster_can_be_registered_untested() -> None:
    assert "c is registered." in run(
        "add_cluster",
        "c",
        "http://127.0.0.1:9",
        "--untested",
        "--logs",
        "/a/*.log",
        "--logs",
        "/b/*.log",
    )
    assert Cluster.objects.get().log_globs == ["/a/*.log", "/b/*.log"]


def test_the_address_may_stand_behind_the_options() -> None:
    run("add_cluster", "c", "--untested", "http://127.0.0.1:9")
    assert Cluster.objects.get().url == "http://127.0.0.1:9"


def test_the_connection_test_says_what_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    report = TestReport(True, "It answers.", ("Flink 1.20.1 with 2 jobs",), ("no logs",))
    monkeypatch.setattr(add_cluster, "check_connection", lambda cluster: report)
    said = run("add_cluster", "c", "http://h:8081")
    assert "sees    Flink 1.20.1 with 2 jobs" in said
    assert Cluster.objects.get().misses == ["no logs"]
    assert "c is registered." in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["c", "nonsense"], "http://jobmanager:8081"),
        (["a b", "http://h:1"], "letters, digits"),
        (["c", "http://h:1", "--auth", "basic"], "basic:USER, bearer or kerberos"),
        (["c", "http://h:1", "--auth", "kerberos:me"], "basic:USER, bearer or kerberos"),
        (["c", "http://h:1", "--time-zone", "Mars"], "IANA"),
        (["c", "http://h:1", "--cert", "/nowhere.pem"], "belong together"),
    ],
)
def test_input_that_makes_no_sense_is_refused(words: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says) as refusal:
        run("add_cluster", *words, "--untested")
    assert refusal.value.returncode == 2


def test_the_secret_comes_from_the_environment_and_is_stored_encrypted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_CLUSTER_SECRET", CANARY)
    said = run("add_cluster", "c", "http://h:1", "--auth", "basic:me", "--untested")
    assert CANARY not in said + repr(Cluster.objects.values().get())
    source = Cluster.objects.get().source()
    assert source.auth is not None
    assert (source.auth.user, source.auth.secret) == ("me", CANARY)


def test_the_secret_may_come_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{CANARY}\n"))
    run("add_cluster", "c", "http://h:1", "--auth", "bearer", "--untested")
    auth = Cluster.objects.get().source().auth
    assert auth is not None
    assert auth.secret == CANARY


def test_a_registered_cluster_is_only_changed_on_request() -> None:
    run("add_cluster", "c", "http://h:1", "--untested")
    with pytest.raises(CommandError, match="use --replace"):
        run("add_cluster", "c", "http://h:2", "--untested")
    run("add_cluster", "c", "http://h:2", "--untested", "--replace")
    assert Cluster.objects.get().url == "http://h:2"


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "recording"
    folder.mkdir()
    job = {
        "jid": "a" * 32,
        "name": "orders",
        "state": "RUNNING",
        "start-time": 1740830000000,
        "end-time": -1,
        "duration": 1,
        "tasks": {},
    }
    answers = {"/overview": {"flink-version": "1.20.1"}, "/jobs/overview": {"jobs": [job]}}
    lines = [
        json.dumps({"ts": 1740830400.0, "path": path, "status": 200, "body": body})
        for path, body in answers.items()
    ]
    (folder / "rest.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "logs").mkdir()
    line = "2025-03-01 12:00:00,000 INFO  org.apache.flink.runtime.Some [] - Hello.\n"
    (folder / "logs" / "flink-standalonesession-0-host.log").write_text(line)
    yield folder


def test_a_recording_becomes_a_cluster_and_is_not_imported_twice(recording: Path) -> None:
    assert "imported as cluster demo" in run(
        "import_recording", str(recording), "--cluster", "demo"
    )
    assert Cluster.objects.get().kind == "recording"
    assert "was imported before" in run("import_recording", str(recording), "--cluster", "demo")


def test_a_recording_that_grew_is_imported_again(recording: Path) -> None:
    run("import_recording", str(recording), "--cluster", "demo")
    with (recording / "logs" / "flink-standalonesession-0-host.log").open("a") as log:
        log.write("2025-03-01 12:00:01,000 INFO  org.apache.flink.runtime.Some [] - More.\n")
    assert "imported as cluster demo" in run(
        "import_recording", str(recording), "--cluster", "demo"
    )


def test_a_folder_that_is_no_recording_leaves_no_cluster(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match="no recording") as refusal:
        run("import_recording", str(tmp_path / "empty"), "--cluster", "demo")
    assert refusal.value.returncode == 2
    assert not Cluster.objects.exists()


def test_a_recording_cannot_take_the_name_of_a_live_cluster(recording: Path) -> None:
    run("add_cluster", "c", "http://h:1", "--untested")
    with pytest.raises(CommandError, match="is a live cluster"):
        run("import_recording", str(recording), "--cluster", "c")


def test_a_store_of_logs_is_registered_with_its_secret_and_shown_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_LOG_STORE_SECRET", CANARY)
    store = [
        "--log-store",
        "loki:http://127.0.0.1:9",
        "--log-query",
        '{app="a"}',
        "--log-tenant",
        "t",
        "--log-auth",
        "bearer",
    ]
    said = run("add_cluster", "c", "--untested", *store, "--log-history", "48")
    cluster = Cluster.objects.get()
    source = cluster.source().log_store
    assert source is not None and source.auth is not None
    assert (source.kind, source.url, source.query, source.tenant, source.backfill_s) == (
        "loki", "http://127.0.0.1:9", '{app="a"}', "t", 48 * 3600,
    )  # fmt: skip
    assert source.auth.secret == CANARY
    assert CANARY not in said + repr(source) + cluster.log_store_secret_encrypted


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--log-store", "splunk:http://h"], "loki:URL"),
        (["--log-store", "loki:http://h:3100", "--log-query", "flink"], "selector of LogQL"),
        (["--log-store", "loki:http://h:3100", "--log-query", "{a='b'}"], "selector of LogQL"),
        (
            ["--log-store", "loki:http://h:3100", "--log-query", '{a="b"}', "--log-tenant", "a b"],
            "name of a tenant",
        ),
        (["--log-store", "elasticsearch:http://h:9200"], "index that holds the logs"),
        (
            ["--log-store", "opensearch:http://h:9200", "--log-index", "../_cluster"],
            "index or data stream",
        ),
        (
            ["--log-store", "opensearch:http://u:p@h:9200", "--log-index", "a"],
            "not inside the address",
        ),
        (
            [
                "--log-store",
                "opensearch:http://h:9200",
                "--log-index",
                "a",
                "--log-auth",
                "api_key",
            ],
            "WEIR_LOG_STORE_SECRET",
        ),
        (
            [
                "--log-store",
                "opensearch:http://h:9200",
                "--log-index",
                "a",
                "--log-history",
                "9999",
            ],
            "720",
        ),
        (["--log-store", "opensearch:http://169.254.169.254", "--log-index", "a"], "never asks"),
    ],
)
def test_a_store_of_logs_that_makes_no_sense_is_refused(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match=says) as refusal:
        run("add_cluster", "c", "http://h:1", "--untested", *words)
    assert refusal.value.returncode == 2
    assert not Cluster.objects.exists()
