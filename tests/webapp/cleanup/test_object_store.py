"""A clean-up in an S3-compatible store under the attack of two names: what a checkpoint needs by
the one is not taken by the other.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.exceptions import ValidationError

from ingest.storage import tree
from ingest.storage.identities import VisitedDirectories
from ingest.storage.listing import list_root
from ingest.storage.plan_folder import PlanFolder
from ingest.storage.roots import Root
from ingest.storage.snapshots import SECOND_NAME
from tests.ingest.metadata import writing as w
from tests.ingest.storage.test_object_store import endpoint, store
from tests.webapp.cleanup.remote import planned
from tests.webapp.cleanup.worlds import name_of_job, write_verdicts
from webapp.cleanup.applying import Applying
from webapp.cleanup.errors import PutBack
from webapp.cleanup.manifest import PlannedRoot
from webapp.cleanup.metadata_search import metadata_below
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_reader import PlanReader
from webapp.cleanup.purging import purge
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.references import Storage
from webapp.cleanup.run import Run
from webapp.cleanup.watching import PlannedPaths, Watch
from webapp.storage.models import StorageRoot
from webapp.storage.registration import save

__all__ = ["endpoint", "store"]

JOB = name_of_job(1)
NAMES = [
    ("s3://state/flink", "s3a://state/flink"),
    ("s3://other/flink", "s3://state/flink"),
    ("hdfs://gateway/flink", "s3a://state/flink"),
]
"""What a root is called, and where it is read; references say ``s3://state/flink``."""


@dataclass
class Bucket:
    """Two files of a job and its checkpoint that needs one of them; an audit that knows the root by
    ``uri`` only.
    """

    s3: Any
    folder: Path
    uri: str
    read_at: str
    needed: str = field(init=False)
    orphan: str = field(init=False)
    now: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=60))
    way: str = "copy"
    references: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.needed, self.orphan = (
            f"{JOB}/shared/{uuid.UUID(int=Random(seed).getrandbits(128))}" for seed in (1, 2)
        )
        for name in (self.needed, self.orphan):
            self.s3.pipe(f"state/flink/{name}", b"state")
        self.checkpoint(1, self.needed)

    def checkpoint(self, number: int, *names: str) -> None:
        self.references += [(number, name) for name in names]
        shared = {
            f"{place:06}.sst": w.file(5, f"s3a://state/flink/{name}")
            for place, name in enumerate(names)
        }
        state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
        self.s3.pipe(
            f"state/flink/{JOB}/chk-{number}/_metadata",
            w.metadata(4, [w.operator(4, [w.subtask(4, 0, keyed=state)])]),
        )

    @property
    def root(self) -> Root:
        return Root(self.uri, self.read_at)

    def fresh(self) -> FreshAudit:
        """As if no name but ``uri`` were known: nothing seems to refer to either file."""
        name, rows = f"audit-{uuid.uuid4().hex[:6]}", []
        for below in (self.needed, self.orphan):
            if not tree.exists(f"{self.read_at}/{below}"):
                continue
            found = tree.stat(f"{self.read_at}/{below}")
            rows.append(
                {
                    "root": self.uri,
                    "path": f"{self.uri}/{below}",
                    "listed_path": f"{self.read_at}/{below}",
                    "bytes": found.bytes,
                    "modified": found.modified,
                    "first_seen_at": found.modified,
                    "verdict": "orphan",
                    "reason": "unreferenced",
                    "kind": "unknown",
                    "place": "shared",
                    "cluster": "prod",
                    "job_id": JOB,
                    "unreferenced_since": self.now - timedelta(hours=12),
                }
            )
        verdicts = write_verdicts(self.folder / name, rows, name)
        references = self.folder / name / "references.parquet"
        told = [
            {
                "audit_id": name,
                "metadata_path": f"{self.uri}/{JOB}/chk-{number}/_metadata",
                "path": f"s3://state/flink/{below}",
            }
            for number, below in self.references
        ]
        pq.write_table(pa.Table.from_pylist(told), references)
        return FreshAudit(name, self.now, verdicts, [str(references)])

    def plan(self) -> PlanReader:
        audit = self.fresh()
        folder = PlanFolder(str(self.folder / f"plan-{audit.audit_id}"))
        waits_at = "s3://state/quarantine" if self.way == "copy" else ""
        root = PlannedRoot(self.uri, self.read_at, waits_at, self.way)
        return planned(folder, audit, root, self.now)

    def run(self, reader: PlanReader, files: TreeFiles) -> tuple[Run, Watch, Storage]:
        planned = PlannedPaths(part["path"] for part in reader.parts())
        run = Run(
            PlanReader(reader.folder, reader.name),
            files,
            RateLimit(None),
            lambda: self.now + timedelta(hours=1),
        )
        return (
            run,
            Watch(lambda: metadata_below([self.root]), planned, sleep=lambda s: None),
            Storage([self.root]),
        )


@pytest.fixture(params=NAMES, ids=lambda names: names[0])
def bucket(request: pytest.FixtureRequest, store: Any, tmp_path: Path) -> Bucket:
    return Bucket(store, tmp_path, *request.param)


def outcomes(run: Run, verb: str) -> dict[str, str]:
    journal = run.journal(verb)
    return {
        row.path.rpartition("/")[2]: row.outcome
        for chunk in journal.finished_chunks()
        for row in journal.read(chunk).rows
    }


def test_what_is_needed_by_the_other_name_stays_and_the_orphan_goes(bucket: Bucket) -> None:
    reader = bucket.plan()
    run, watch, storage = bucket.run(reader, TreeFiles())
    Applying(run, bucket, watch, storage)()
    assert outcomes(run, "apply") == {
        Path(bucket.needed).name: "referred",
        Path(bucket.orphan).name: "quarantined",
    }
    run, watch, storage = bucket.run(reader, TreeFiles())
    purge(run, bucket, watch, storage)
    assert outcomes(run, "purge") == {Path(bucket.orphan).name: "purged"}
    assert tree.exists(f"s3://state/flink/{bucket.needed}") and not bucket.s3.find(
        "state/quarantine"
    )


def test_a_checkpoint_that_comes_to_miss_a_file_gets_it_back(bucket: Bucket) -> None:
    class Late(TreeFiles):
        then: Callable[..., None] | None = bucket.checkpoint

        def move(self, source: str, target: str, expected: tree.Stat) -> None:
            super().move(source, target, expected)
            then, self.then = self.then, None
            if then:
                then(2, bucket.orphan)

    run, watch, storage = bucket.run(bucket.plan(), Late())
    with pytest.raises(PutBack, match="newly miss"):
        Applying(run, bucket, watch, storage)()
    assert all(tree.exists(f"s3://state/flink/{name}") for name in (bucket.needed, bucket.orphan))
    assert not bucket.s3.find("state/quarantine")


@pytest.mark.django_db
def test_two_names_of_one_place_in_a_bucket_are_seen_by_registration_and_by_listing(
    bucket: Bucket, tmp_path: Path
) -> None:
    StorageRoot.objects.create(uri="s3://state/flink/", read_at="")
    with pytest.raises(ValidationError, match="the same directory"):
        save(StorageRoot(uri="s3://third/flink", read_at=bucket.read_at), [])
    visited = VisitedDirectories()
    list_root(Root("s3://state/flink"), str(tmp_path / "one"), visited=visited)
    listed = list_root(
        Root("s3://third/flink", bucket.read_at), str(tmp_path / "two"), visited=visited
    )
    assert [skip.reason for skip in listed.unlisted] == [SECOND_NAME]
    assert [skip.subject for skip in visited.skips_of("s3://state/flink")] == ["s3://state/flink"]
