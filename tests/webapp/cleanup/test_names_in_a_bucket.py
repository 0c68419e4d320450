"""Keys of any spelling in a bucket, end to end: real audits of what lies there, plan, apply, purge."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from tests.ingest.metadata import writing as w
from tests.ingest.storage.test_object_store import endpoint, store
from tests.selections import mostly_long
from tests.webapp.builders import cluster, job, person
from tests.webapp.cleanup.test_whole import home, run
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import Cluster
from webapp.storage.models import AuditDoubt

__all__ = ["endpoint", "home", "store"]
pytestmark = pytest.mark.django_db(transaction=True)
BEGAN = datetime(2026, 5, 4, 6, tzinfo=UTC)
WRITTEN = {
    "apps": "apps",
    "a%20b": "a%20b",
    "s%2541": "s%2541",
    "état": "état",
    "x+y": "x+y",
    "sp ace": "sp ace",
    "q?x=1": "q?x=1",
    "h#sh": "h#sh",
    "a::b": "a::b",
    "[x]*": "[x]*",
    "two//slashes": "two/slashes",
    "/leading": "leading",
}
"""What keys have → what references say."""


class Keys:
    """A job for each name, each with a checkpoint, what it needs and what nobody needs."""

    def __init__(self, s3: Any, names: dict[str, str]) -> None:
        self.s3, self.rng = s3, Random(3)
        self.needed: list[str] = []
        self.orphans: list[str] = []
        for number, (name, said) in enumerate(names.items(), 16):
            jid = f"{number:02x}" * 16
            self.job(f"flink/{name}/{jid}", f"flink/{said}/{jid}", jid)

    def put(self, key: str, content: bytes) -> str:
        self.s3.call_s3("put_object", Bucket="state", Key=key, Body=content)
        return key

    def job(self, folder: str, said: str, jid: str) -> None:
        names = [str(uuid.UUID(int=self.rng.getrandbits(128))) for _ in range(4)]
        for name in names[:2]:
            self.needed.append(self.put(f"{folder}/shared/{name}", b"state"))
        for name in names[2:]:
            self.orphans.append(self.put(f"{folder}/shared/{name}", b"state"))
        scheme = self.rng.choice(["s3", "s3a", "s3n", "s3p"])
        shared = {
            f"{at:06}.sst": w.file(5, f"{scheme}://state/{said}/shared/{name}")
            for at, name in enumerate(names[:2])
        }
        state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
        content = w.metadata(4, [w.operator(4, [w.subtask(4, 0, keyed=state)])], checkpoint=5)
        self.needed.append(self.put(f"{folder}/chk-5/_metadata", content))
        told = {
            "state": "CANCELED",
            "terminal": True,
            "start_time": BEGAN - timedelta(days=1),
            "end_time": BEGAN + timedelta(minutes=1),
            "last_completed_id": 5,
            "last_completed_at": BEGAN,
            "last_completed_path": f"{scheme}://state/{said}/chk-5",
        }
        counts = {"at": (BEGAN + timedelta(minutes=1)).isoformat(), "restored": 0, "total": 5}
        job("app", at=BEGAN, job_id=jid, flink_counts=counts, **told)

    def there(self, key: str) -> bool:
        listed = self.s3.call_s3("list_objects_v2", Bucket="state", Prefix=key)
        return any(row["Key"] == key for row in listed.get("Contents", ()))


@pytest.fixture(params=mostly_long(["delete_marker", "tag", "copy"]))
def way(request: pytest.FixtureRequest, store: Any) -> Iterator[str]:
    if request.param == "delete_marker":
        status = {"Status": "Enabled"}
        store.call_s3("put_bucket_versioning", Bucket="state", VersioningConfiguration=status)
    yield request.param
    there = store.call_s3("list_object_versions", Bucket="state")
    for row in (*there.get("Versions", ()), *there.get("DeleteMarkers", ())):
        store.call_s3("delete_object", Bucket="state", Key=row["Key"], VersionId=row["VersionId"])


@pytest.mark.parametrize("spelled", mostly_long(["s3n://state/flink/", "s3a://state/flink"]))
def test_what_is_needed_stays_and_the_rest_goes(
    home: Path, store: Any, way: str, spelled: str
) -> None:
    with time_machine.travel(BEGAN, tick=True) as clock:
        cluster("app", at=BEGAN)
        keys = Keys(store, WRITTEN)
        run("add_storage_root", spelled, "--attest", "olga")
        user = person("ada")
        user.is_superuser = True
        user.save()

        def later(days: float) -> None:
            clock.shift(timedelta(days=days))
            Cluster.objects.update(last_success_at=timezone.now())

        for _ in range(3):
            later(4)
            run("audit_storage")
        run("plan_cleanup", *(["--waste"] if way == "copy" else []), "--json")
        plan = CleanupPlan.objects.get()
        moved = {root["moves"] for root in plan.summary["roots"]}
        assert moved == {way}, list(AuditDoubt.objects.values_list("subject", "reason", "detail"))
        orders.approve(plan, user, timezone.now())
        run("apply_cleanup", str(plan.name), "--apply", "--json")
        assert [key for key in keys.needed if not keys.there(key)] == []
        later(8)
        run("apply_cleanup", str(plan.name), "--purge", "--json")
        assert [key for key in keys.needed if not keys.there(key)] == []
        kept = [key for key in keys.orphans if keys.there(key)]
        assert kept == [key for key in keys.orphans if "//" in key]
        assert plan.summary["withheld_files"] == {"outside_its_root": len(kept)}
