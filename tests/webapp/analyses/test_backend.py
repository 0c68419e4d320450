"""The state backend of recorded jobs: page, API and command, against Flink's raw answers."""

import json
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from spark_jobs.serving import JOB_CURRENT
from tests.diagnosis.test_gauges import told
from tests.first_cycles import CLUSTER, served_tables
from tests.raw_starts import FIXTURES
from tests.webapp.analyses.answers import advice_of, facts_of, tables_of
from tests.webapp.builders import cluster, job
from webapp.fleet.models import JobCurrent

pytestmark = pytest.mark.django_db
SENT = ".currentOutputWatermark"
VERSIONS = ["1.20.5", "2.3.0"]


def ms_of(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def taken_up(recording: str, home: Path) -> JobCurrent:
    (rows,) = served_tables(FIXTURES / recording, home, JOB_CURRENT)
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in rows)
    own = JobCurrent.objects.get()
    cluster(CLUSTER, at=own.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    return own


def shown(viewer: Client, name: str, job_id: str) -> str:
    """What comes after the page itself."""
    return words_of(
        viewer.get(
            reverse("backend", args=(name, job_id)), headers={"HX-Request": "true"}
        ).content.decode()
    )


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.mark.parametrize("version", VERSIONS)
def test_page_api_and_command_show_rocksdb_as_flink_measured_it(
    version: str, home: Path, viewer: Client
) -> None:
    played = f"{version}/write-stall"
    own = taken_up(f"incidents/{played}", home)
    document = viewer.get(reverse("api-job-analysis-backend", args=(CLUSTER, own.job_id))).json()
    facts, tables = facts_of(document), tables_of(document)
    out = StringIO()
    call_command("analyse", CLUSTER, own.job_id, "backend", "--json", stdout=out)
    assert document == json.loads(out.getvalue())
    (enrich,) = [one for one in tables["vertices"]["rows"] if one["vertex"] == "enrich"]
    for figure, end, aggregate in (
        ("writes_stopped", "is-write-stopped", "sum"),
        ("level0_files", "num-files-at-level0", "max"),
        ("memtable_bytes", "cur-size-all-mem-tables", "sum"),
        ("sst_bytes", "total-sst-files-size", "sum"),
    ):
        assert enrich[figure] == told(played, "enrich", f"rocksdb_{end}", aggregate)[-1], figure
    stopped, slowed = (
        told(played, "enrich", f"rocksdb_{end}", "max")
        for end in ("is-write-stopped", "actual-delayed-write-rate")
    )
    assert enrich["samples"] == len(stopped)
    assert enrich["stalled"] == sum(
        bool(one or other) for one, other in zip(stopped, slowed, strict=True)
    )
    assert facts["is_rocksdb"] is True
    options = {one["key"]: (one["value"], one["is_set"]) for one in tables["options"]["rows"]}
    assert options["state.backend.rocksdb.compaction.style"] == ("NONE", True)
    assert options["state.backend.rocksdb.thread.num"] == ("2", False)
    assert not advice_of(document)
    page = shown(viewer, CLUSTER, own.job_id)
    assert document["verdict"]["sentence"] in page
    assert "RocksDB stopped or slowed the writes of enrich" in page
    apart = [
        one["distance_ms"]
        for one in tables.get("inputs", {}).get("rows", ())
        if one["distance_ms"] is not None
    ]
    if version == "1.20.5":
        assert 115_000 < apart[0] < 130_000
        assert "fed" not in tables
    else:
        assert not apart
        first, second = tables["fed"]["rows"]
        assert (first["vertex"], first["unknown_because"]) == ("matched", None)
        assert (
            ms_of(first["sent_watermark"])
            == told(played, "Source: Sequence Source -> first -> first times", SENT, "min")[-1]
        )
        assert (
            ms_of(second["sent_watermark"])
            == told(played, "Source: Sequence Source -> second -> second times", SENT, "min")[-1]
        )
        assert (first["behind_ms"], second["behind_ms"]) == (
            0,
            ms_of(first["sent_watermark"]) - ms_of(second["sent_watermark"]),
        )
        assert "Source: Sequence Source -&gt; second -&gt; second times" in page
    assert "which of them is slower is unknown" not in page


def test_where_metrics_are_off_the_page_says_so_and_how_to_switch_them_on(
    home: Path, viewer: Client
) -> None:
    own = taken_up("incidents/1.20.5/transactions", home)
    page = shown(viewer, CLUSTER, own.job_id)
    assert "whether it stalls is unknown" in page
    assert "state.backend.rocksdb.metrics.is-write-stopped: true" in page


def test_a_job_of_which_nothing_is_known_has_a_page(
    home: Path, viewer: Client, django_assert_max_num_queries
) -> None:
    now = datetime(2026, 11, 21, 4, tzinfo=UTC)
    cluster("prod-eu", at=now)
    own = job("prod-eu", at=now, name="orders", configuration=None, checkpoint_config=None)
    with django_assert_max_num_queries(12):
        page = shown(viewer, "prod-eu", own.job_id)
    assert "Whether this job keeps its state in RocksDB is not known" in page
    assert "The configuration of the cluster is not known" in page


@pytest.mark.parametrize(
    ("named", "rocksdb"),
    [
        ("EmbeddedRocksDBStateBackend", True),
        ("RocksDBStateBackend", True),
        ("HashMapStateBackend", False),
        ("FsStateBackend", False),
        ("Unknown", None),
        ("shop.OwnBackend", None),
        (None, None),
    ],
)
def test_only_a_backend_that_flink_names_is_known_to_be_without_rocksdb(
    home: Path, viewer: Client, named: str, rocksdb: bool
) -> None:
    now = datetime(2026, 11, 21, 4, tzinfo=UTC)
    cluster("prod-eu", at=now)
    own = job(
        "prod-eu",
        at=now,
        name="orders",
        checkpoint_config={"state_backend": named, "checkpoint_storage": "Unknown"},
    )
    page = shown(viewer, "prod-eu", own.job_id)
    assert ("does not keep its state in RocksDB" in page) == (rocksdb is False)
    assert ("Whether this job keeps its state in RocksDB is not known" in page) == (rocksdb is None)
    assert "Unknown" not in page
