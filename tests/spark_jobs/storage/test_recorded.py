"""Recorded trees, audited twice four days apart: restored (H), TaskManagers killed (I), files
merged (K).
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from spark_jobs.manifest import Manifest
from tests.flink_segments import by_flink
from tests.spark_jobs.storage.audits import Audited, Auditor
from tests.spark_jobs.storage.judged_worlds import sorted_rows
from tests.spark_jobs.storage.recorded_jobs import RESTORED, recorded_jobs
from tests.storage_trees import FINAL, FINAL_RUNNING, RecordedTree, lay_out

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
RECORDED_K = RECORDINGS / "1.20.5" / "K" / "ckpt"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


TWIN = "I-again"
"""A second audit of the root of I, in the same runs."""


CHANGING = ("1.12.5-G", "1.20.5-G")
"""Audited first as they were while their jobs ran, then as they were at the end."""


class Recorded:
    """Trees, each an audit of its own in the same runs, and one of them twice."""

    def __init__(self, folder: Path, trees: Path, spark: SparkSession | None = None) -> None:
        self.laid_out = trees
        self.trees = {name: lay_out(f"1.20.5-{name}", trees / name) for name in "HIK"}
        running = {
            name: lay_out(name, trees / FINAL_RUNNING / name, at=FINAL_RUNNING) for name in CHANGING
        }
        ended = {name: lay_out(name, trees / FINAL / name) for name in CHANGING}
        lasting = self.trees | {TWIN: self.trees["I"]}
        auditor = Auditor(folder, spark=spark)
        first = {
            name: (tree, tree.newest + timedelta(minutes=1))
            for name, tree in (lasting | running).items()
        }
        self.first = auditor.audit(
            [_asked(name, tree, as_of) for name, (tree, as_of) in first.items()]
        )
        # Of H so long after its first job that "older than four days" means exactly what that job
        # wrote.
        last_of_first_job = max(
            file.modified for file in self.trees["H"].files if "/529e89" in file.path
        )
        second = {
            name: (tree, tree.newest + timedelta(days=4, hours=1))
            for name, tree in (lasting | ended).items()
        }
        second["H"] = (
            self.trees["H"],
            datetime.fromtimestamp(last_of_first_job, UTC) + timedelta(days=4, seconds=1),
        )
        self.second = auditor.audit(
            [_asked(name, tree, as_of) for name, (tree, as_of) in second.items()]
        )

    def named_in(self, name: str, snapshots: set[str] | None = None) -> set[str]:
        """Paths of files whose name occurs in the bytes of any ``_metadata``, or of those of
        ``snapshots``.
        """
        tree = self.trees[name]
        kept = [
            file
            for file in tree.files
            if file.path.endswith("/_metadata")
            and (snapshots is None or tree.uri(file.path) in snapshots)
        ]
        names = {
            found.decode()
            for file in kept
            for found in UUID.findall((tree.directory / file.path).read_bytes())
        }
        return {tree.uri(file.path) for file in tree.files if Path(file.path).name in names}


def copies(path: str) -> int:
    """How often each file of I is stored, by its inventory."""
    return 3 if "/shared/" in path else 2


def _asked(name: str, tree: RecordedTree, as_of: datetime) -> dict[str, Any]:
    root = {
        "uri": tree.root.uri,
        "read_at": tree.root.read_at,
        "clusters": ["lab"],
        "attested": True,
    }
    if name == "I":
        root["copies"] = copies
    return {
        "audit_id": name,
        "as_of": as_of,
        "age_guard_h": 72,
        "roots": [root],
        "jobs": recorded_jobs(tree),
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"), tmp_path_factory.mktemp("trees"))


def written_by(run: Manifest) -> dict[str, Any]:
    """Everything that a run left: rows, counts, columns with their types, and files in their
    order.
    """
    tables: Mapping[str, Any] = {
        name: output.files for name, output in run.tables.items()
    } | run.state
    paths = {name: [Path(run.run_dir, file) for file in files] for name, files in tables.items()}
    return {
        "rows": {name: sorted_rows(*files) for name, files in paths.items()},
        "counts": {name: output.rows for name, output in run.tables.items()},
        "columns": {
            name: [(field.name, str(field.type)) for field in pq.read_schema(files[0])]
            for name, files in paths.items()
            if files
        },
        "order of files": [
            row["path"] for file in paths["storage_file"] for row in pq.read_table(file).to_pylist()
        ],
    }


@pytest.mark.long
def test_spark_leaves_what_one_process_leaves(
    spark: SparkSession, recorded: Recorded, tmp_path: Path
) -> None:
    by_spark = Recorded(tmp_path, recorded.laid_out, spark)
    for here, there in ((recorded.first, by_spark.first), (recorded.second, by_spark.second)):
        assert written_by(there.manifest) == written_by(here.manifest)
    verdicts = {
        json.loads(row)["verdict"]
        for row in written_by(by_spark.second.manifest)["rows"]["storage_verdict"]
    }
    assert verdicts >= {"live", "retained_waste", "orphan"}


def checkpoint(audited: Audited, name: str, job: str, number: int) -> dict[str, Any]:
    (row,) = [
        row
        for row in audited.rows("storage_checkpoint", name)
        if row["job_id"].startswith(job) and row["checkpoint_id"] == number
    ]
    return row


def test_the_first_audit_finds_no_orphan(recorded: Recorded) -> None:
    assert all(not recorded.first.paths(name, "orphan") for name in "HIK")


@pytest.mark.parametrize("run", ["first", "second"])
def test_what_was_read_for_two_audits_of_a_root_counts_once_for_each(
    recorded: Recorded, run: str
) -> None:
    # The first run parses every _metadata for both, the second finds both in the lake.
    audited: Audited = getattr(recorded, run)
    one, other = (
        sorted(
            (row["metadata_path"], row["path"], row["bytes"])
            for row in audited.rows("storage_reference", name)
        )
        for name in ("I", TWIN)
    )
    assert one == other == sorted({*one}) != []


def test_two_audits_of_a_root_say_the_same_of_its_files(recorded: Recorded) -> None:
    for verdict in ("live", "orphan", "recent", "kept"):
        assert recorded.second.paths("I", verdict) == recorded.second.paths(TWIN, verdict)


def test_the_chain_of_jobs_is_shown(recorded: Recorded) -> None:
    chains = {
        (row["job_id"][:6], row["other_job_id"][:6], row["files"])
        for row in recorded.first.rows("storage_chain", "H")
        if row["kind"] == "refers"
    }
    assert chains == {
        ("6ced19", "529e89", 12),
        ("548495", "6ced19", 8),
        ("bdf1ec", "529e89", 12),
        ("0e0a92", "bdf1ec", 8),
    }


def test_a_restore_is_a_link_of_the_chain_although_nothing_is_referred_to(
    recorded: Recorded,
) -> None:
    links = {
        (row["job_id"][:6], row["other_job_id"][:6])
        for row in recorded.first.rows("storage_chain", "H")
        if row["kind"] == "restored_from"
    }
    assert links == {(job, origin) for job, (origin, _) in RESTORED.items()}


@pytest.mark.parametrize(
    ("job", "number", "own", "foreign"),
    [("6ced19", 8, 8, 12), ("548495", 11, 8, 8), ("a543f5", 8, 16, 0), ("bdf1ec", 8, 8, 12)],
)
def test_references_into_other_jobs_directories_are_counted(
    recorded: Recorded, job: str, number: int, own: int, foreign: int
) -> None:
    row = checkpoint(recorded.first, "H", job, number)
    assert (row["files"] - row["foreign_files"], row["foreign_files"], row["self_contained"]) == (
        own,
        foreign,
        foreign == 0,
    )


def test_the_files_that_a_claim_took_away_are_missing_and_superseded(recorded: Recorded) -> None:
    row = checkpoint(recorded.first, "H", "0e0a92", 11)
    missing = recorded.first.rows("storage_missing", "H")
    assert (row["missing_files"], row["resolvable"]) == (16, False)
    assert len(missing) == 16 and all(
        one["superseded"] and one["metadata_path"] == row["metadata_path"] for one in missing
    )


def test_every_other_checkpoint_can_be_restored(recorded: Recorded) -> None:
    assert [row["resolvable"] for row in recorded.first.rows("storage_checkpoint", "H")].count(
        True
    ) == 14


def test_waste_is_what_whole_successors_left_behind(recorded: Recorded) -> None:
    waste = {
        (row["job_id"][:6], row["checkpoint_id"])
        for row in recorded.second.rows("storage_checkpoint", "H")
        if row["verdict"] != "live"
    }
    # bdf1ec was restored from 529e89, and its last checkpoint was claimed by a job that never had
    # one of its own: nobody can say what that checkpoint still needs of 529e89.
    assert waste == {("548495", 11), ("548495", 12), ("a543f5", 8), ("a543f5", 9), ("0e0a92", 11)}


def test_what_stays_is_exactly_what_the_checkpoints_that_stay_need(recorded: Recorded) -> None:
    staying = {
        row["metadata_path"]
        for row in recorded.second.rows("storage_checkpoint", "H")
        if row["verdict"] == "live"
    }
    assert recorded.second.paths("H", "live") == recorded.named_in("H", staying) | staying
    assert not recorded.second.paths("H", "orphan")


def test_orphans_of_killed_taskmanagers_equal_a_plain_recount(recorded: Recorded) -> None:
    named = recorded.named_in("I")
    lost = {
        path: file.bytes
        for file in recorded.trees["I"].files
        if "/shared/" in file.path and (path := recorded.trees["I"].uri(file.path)) not in named
    }
    orphans = {
        row["path"]: row["bytes"]
        for row in recorded.second.rows("storage_file", "I")
        if row["verdict"] == "orphan"
    }
    assert orphans == lost
    assert (len(orphans), sum(orphans.values())) == (14, 17_566_752)


def test_figures_of_the_root_are_sums_of_its_files(recorded: Recorded) -> None:
    (row,) = recorded.second.rows("storage_root", "I")
    files = recorded.trees["I"].files
    assert (row["files"], row["bytes"]) == (len(files), sum(file.bytes for file in files))
    assert (row["orphan_files"], row["orphan_bytes"], row["cleanable"]) == (14, 17_566_752, True)


def test_raw_bytes_count_each_file_as_often_as_its_inventory_says(recorded: Recorded) -> None:
    tree = recorded.trees["I"]
    raw = {tree.uri(file.path): file.bytes * copies(file.path) for file in tree.files}
    (root,) = recorded.second.rows("storage_root", "I")
    assert (
        root["raw_bytes"] == sum(raw.values())
        and root["bytes"] * 2 < root["raw_bytes"] < root["bytes"] * 3
    )


def test_where_a_listing_does_not_say_how_often_files_are_stored_raw_bytes_are_unknown(
    recorded: Recorded,
) -> None:
    assert {row["raw_bytes"] for row in recorded.second.rows("storage_root", TWIN)} == {None}


@pytest.mark.parametrize(("job", "newer", "older"), [("7cd4dd", 21, 20), ("4c3409", 25, 24)])
def test_new_files_of_a_checkpoint_are_physical_ones_that_the_one_before_has_not(
    recorded: Recorded, job: str, newer: int, older: int
) -> None:
    """Files as Flink's own loader printed them."""
    row = checkpoint(recorded.first, "K", job, newer)
    before = checkpoint(recorded.first, "K", job, older)
    assert row["previous_path"] == before["metadata_path"]
    ours, theirs = (
        by_flink(RECORDED_K / one["job_id"] / f"chk-{one['checkpoint_id']}" / "_metadata")
        for one in (row, before)
    )
    files, others = ({name for name, _offset in of} for of in (ours, theirs))
    assert row["new_files"] == len(files - others)
    assert ours.keys() - theirs.keys()


def test_the_second_audit_parses_nothing_again(recorded: Recorded) -> None:
    lake = (
        Path(recorded.second.manifest.run_dir).parent
        / "lake"
        / "derived"
        / "references"
        / "_delta_log"
    )
    assert len(list(lake.glob("*.json"))) == 2


def test_every_file_that_was_read_is_in_the_lake_with_the_size_and_type_that_flinks_own_loader_read(
    recorded: Recorded,
) -> None:
    lake = Lake(str(Path(recorded.second.manifest.run_dir).parent / "lake"))
    assert not any(lake.version(table) for table in TABLES), "what is raw is left to ingest"
    kept = lake.read(
        "derived/snapshots",
        where={"cluster": ""},
        from_time=BEGINNING,
        to_time=datetime.now(UTC),
        limit=1000,
    ).to_pylist()
    told = {(row["metadata_path"], row["state_bytes"], row["is_savepoint"]) for row in kept}
    assert len(kept) == len({(row["metadata_path"], row["metadata_modified"]) for row in kept}), (
        "one that two audits read is there once"
    )
    wanted = {
        (
            tree.uri(file.path),
            *by_loader(RECORDINGS / "1.20.5" / name / f"{file.path}.oracle.jsonl"),
        )
        for name, tree in recorded.trees.items()
        for file in tree.files
        if file.path.endswith("/_metadata")
    }
    assert len(wanted) > 15 and wanted <= told


def by_loader(oracle: Path) -> tuple[int, bool]:
    with oracle.open(encoding="utf-8") as lines:
        header = json.loads(lines.readline())
    return header["total_state_size"], header["properties"].startswith("SavepointType{")
