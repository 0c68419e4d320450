"""Which keyed states expire, by checkpoints that a real Flink wrote of a job of which it is known
(tests/lab/src/lab/Enrich.java).
"""

import gzip
import html
import json
import tarfile
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from ingest.metadata.keyed_states import described_states
from tests.webapp.analyses.answers import facts_of, tables_of
from tests.webapp.builders import cluster, finding, job
from webapp.analyses.storage.job_state_expiry import NamedState, StateExpiry, job_state_expiry
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.models import StorageRoot

FIXTURES = Path(__file__).parents[3] / "fixtures" / "metadata" / "expiring"
AT = datetime(2026, 11, 24, 20, tzinfo=UTC)
EXPIRES = {
    "last": ("VALUE", True),
    "seen-at": ("MAP", True),
    "recent": ("LIST", True),
    "ever": ("LIST", False),
    "further-1": ("VALUE", False),
}
AWARE = b"\x00\x4corg.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot\x00\x00\x00\x01"


def part(viewer: Client, address: str) -> str:
    """What comes after the page."""
    return html.unescape(viewer.get(address, headers={"HX-Request": "true"}).content.decode())


def completed(checkpoint_id: int, folder: Path) -> JobCurrent:
    """A job whose newest checkpoint lies there."""
    cluster(at=AT)
    of = job(at=AT)
    CheckpointFact.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        checkpoint_id=checkpoint_id,
        trigger_time=AT,
        outcome="completed",
        is_savepoint=False,
        final=True,
        external_path=f"file:{folder}",
        as_of=AT,
    )
    return of


@pytest.mark.django_db
@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_the_page_says_of_each_state_whether_it_expires(
    version: str, tmp_path: Path, viewer: Client
) -> None:
    (tmp_path / "chk-2").mkdir()
    (tmp_path / "chk-2" / "_metadata").write_bytes(
        gzip.decompress((FIXTURES / f"{version}_metadata.gz").read_bytes())
    )
    of = completed(2, tmp_path / "chk-2")
    address = reverse("state-expiry", args=(of.cluster, of.job_id))
    assert "lies below no registered storage root" in part(viewer, address)
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    found = job_state_expiry(of)
    assert {one.name: (one.kind, one.expires) for one in found.states} == EXPIRES
    assert {one.name for one in found.forever} == {"ever", "further-1"}
    document = viewer.get(
        reverse("api-job-analysis-state-expiry", args=(of.cluster, of.job_id))
    ).json()
    rows = tables_of(document)["states"]["rows"]
    assert {one["state"]: (one["kind"], one["expires"]) for one in rows} == EXPIRES
    assert [one["expires"] for one in rows] == [False, False, True, True, True]
    assert (facts_of(document)["checkpoint_id"], document["verdict"]) == (
        2,
        {"tone": "warn", "sentence": found.sentence},
    )
    out, printed = StringIO(), StringIO()
    call_command("analyse", of.cluster, of.job_id, "state-expiry", "--json", stdout=out)
    assert json.loads(out.getvalue()) == document
    call_command("analyse", of.cluster, of.job_id, "state-expiry", stdout=printed)
    page = part(viewer, address)
    assert all(name in page and name in printed.getvalue() for name in (*EXPIRES, found.sentence))
    assert page.count("<bdi>yes</bdi>") == 3


@pytest.mark.django_db
@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_what_is_described_in_a_file_of_its_own_is_read_there(version: str, tmp_path: Path) -> None:
    """Played as ``described-apart`` of the lab; without the file, nothing is said of its states."""
    with tarfile.open(FIXTURES / "apart" / f"{version}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (metadata,) = tmp_path.glob("*/_metadata")
    of = completed(int(metadata.parent.name.removeprefix("chk-")), metadata.parent)
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    found = job_state_expiry(of)
    assert {one.name: (one.kind, one.expires) for one in found.states} == EXPIRES
    assert found.sentence.startswith("2 of 5 keyed states have no time-to-live: ")
    for beside in metadata.parent.iterdir():
        if beside != metadata:
            beside.unlink()
    assert [(one.name, one.expires) for one in job_state_expiry(of).states] == [("", None)]
    assert job_state_expiry(of).sentence == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    "recorded",
    # Key groups in files that are gone; a changelog that nothing was materialized of.
    ["1.20.5-L1-bc8daa-chk-1", "written-4-by-1.20.5"],
)
def test_keyed_state_that_nothing_readable_describes_is_not_called_absent(
    recorded: str, tmp_path: Path, viewer: Client
) -> None:
    (tmp_path / "chk-14").mkdir()
    (tmp_path / "chk-14" / "_metadata").write_bytes(
        gzip.decompress((FIXTURES.parent / f"{recorded}.metadata.gz").read_bytes())
    )
    of = completed(14, tmp_path / "chk-14")
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    found = job_state_expiry(of)
    assert found.states and {one.expires for one in found.states} == {None}
    verdict = viewer.get(
        reverse("api-job-analysis-state-expiry", args=(of.cluster, of.job_id))
    ).json()["verdict"]
    assert verdict["tone"] == "unknown" and "has keyed state" in verdict["sentence"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "recorded", ["1.15.4-L3-f864be-chk-2", "1.17.2-L3-b3b200-chk-2", "2.1.1-L3-a39c68-chk-2"]
)
def test_the_materialized_part_of_a_changelog_describes_its_states(
    recorded: str, tmp_path: Path
) -> None:
    (tmp_path / "chk-14").mkdir()
    (tmp_path / "chk-14" / "_metadata").write_bytes(
        gzip.decompress((FIXTURES.parent / f"{recorded}.metadata.gz").read_bytes())
    )
    of = completed(14, tmp_path / "chk-14")
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    assert {one.name for one in job_state_expiry(of).states} == {"agg", "seen"}


@pytest.mark.django_db
def test_a_finding_of_growing_state_looks_for_the_states_without_a_time_to_live(
    viewer: Client,
) -> None:
    cluster(at=AT)
    of = job(at=AT)
    grows, other = finding(of, "checkpoint.size_growth", AT), finding(of, "checkpoint.expired", AT)
    address = reverse("state-expiry", args=(of.cluster, of.job_id))
    assert address in viewer.get(reverse("finding", args=(grows.pk,))).content.decode()
    assert address not in viewer.get(reverse("finding", args=(other.pk,))).content.decode()


@pytest.mark.parametrize(("flag", "expires"), [(b"\x01", True), (b"\x00", False)])
def test_a_serializer_that_knows_of_expiry_says_whether_it_is_on(
    flag: bytes, expires: bool
) -> None:
    state = (
        b"\x00\x03sum\x00\x00\x00\x00\x00\x00\x00\x01\x00\x10KEYED_STATE_TYPE\x00\x05VALUE"
        + AWARE
        + flag
    )
    assert [tuple(one) for one in described_states(state)] == [("sum", "VALUE", expires)]
    assert described_states(b"nothing of that") == []


@pytest.mark.django_db
def test_a_slow_storage_is_not_waited_for_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(FIXTURES / "apart" / "2.3.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (metadata,) = tmp_path.glob("*/_metadata")
    of = completed(int(metadata.parent.name.removeprefix("chk-")), metadata.parent)
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    monkeypatch.setattr("webapp.analyses.storage.job_state_expiry.MOST_READING_S", 0)
    assert [(one.name, one.expires) for one in job_state_expiry(of).states] == [("", None)]


def test_names_of_sql_operators_are_cut_in_the_sentence() -> None:
    states = [
        NamedState(
            "id", f"GroupAggregate(groupBy=[{'x' * 5_000}])", "accState", "VALUE", expires=False
        )
    ] * 9
    sentence = StateExpiry(states, 1).sentence
    assert sentence.startswith(
        "9 of 9 keyed states have no time-to-live: GroupAggregate(groupBy=[xxx"
    )
    assert sentence.count("accState") == 5 and len(sentence) < 500
