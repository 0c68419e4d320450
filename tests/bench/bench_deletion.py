"""How many files a clean-up deletes in a second, all below one prefix, beside a plain loop of s3fs
in the same store.

Everything is as in operation, with plan, journal and looks at each file; only the audit is made up.
The store is moto, which copies all versions of a bucket for each page of them: what is hidden by
delete markers is measured with few files.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tests.bench.harness import Report

FILES, VERSIONED_FILES, LOOPED_FILES = 20_000, 2_000, 500
FILES_PER_S = 3_000
"""S3 answers 3,500 deletions of a prefix in a second."""
FASTER = 5
JOB, BUCKET = f"{1:032x}", "state"
ROOT, QUARANTINE = f"s3://{BUCKET}/flink", f"s3://{BUCKET}/quarantine"


def run(report: Report) -> None:
    own = {"DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        told = subprocess.run(
            [sys.executable, "-m", "tests.bench.bench_deletion", folder],
            env={**os.environ, **own, "WEIR_HOME": folder},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    for name, value, baseline, at_least in json.loads(told.stdout.splitlines()[-1]):
        report(name, value, "files/s", baseline=baseline, at_least=at_least)


def main(folder: Path) -> None:
    figures: list[tuple[str, float, float | None, float | None]] = []
    with store(folder) as fill:
        looped = loop(fill)
        purged = timed(FILES, purge_of_quarantine(folder, fill))
        figures += [
            ("purged from a quarantine", purged, None, FILES_PER_S),
            ("the same, by a loop of s3fs", purged, looped, FASTER),
        ]
    with store(folder, "Enabled") as fill:
        looped = loop(fill)
        apply, purge = hidden(folder, fill)
        figures += [
            ("hidden by delete markers", timed(VERSIONED_FILES, apply), looped, None),
            ("purged from behind them", timed(VERSIONED_FILES, purge), looped, None),
        ]
    print(json.dumps(figures))


def timed(files: int, act: Callable[[], object]) -> float:
    """Files a second."""
    began = time.perf_counter()
    act()
    return files / (time.perf_counter() - began)


Fill = Callable[[Sequence[str]], None]


@contextmanager
def store(folder: Path, *versioning: str) -> Iterator[Fill]:
    from fsspec.config import conf

    command = [sys.executable, "-m", "tests.bench.simulated_store", BUCKET, *versioning]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        tell, heard = process.stdin, process.stdout
        endpoint = heard.readline().strip()
        os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        conf["s3"] = {
            "key": "bench",
            "secret": "bench",
            "client_kwargs": {"endpoint_url": endpoint},
        }

        def fill(keys: Sequence[str]) -> None:
            (folder / "keys").write_text("\n".join(keys))
            print(folder / "keys", file=tell, flush=True)
            assert heard.readline() == "filled\n"

        yield fill
        tell.close()


def loop(fill: Fill) -> float:
    """Files a second, where each is deleted by a request of its own."""
    import s3fs

    keys = [f"loop/{number}" for number in range(LOOPED_FILES)]
    fill(keys)
    filesystem = s3fs.S3FileSystem()

    def delete() -> None:
        for key in keys:
            filesystem.rm_file(f"{BUCKET}/{key}")

    return timed(LOOPED_FILES, delete)


def purge_of_quarantine(folder: Path, fill: Fill) -> Callable[[], object]:
    """Of files that were moved there."""
    from webapp.cleanup.journal import APPLY
    from webapp.cleanup.purging import purge

    planned = plan(folder / "moved", names(FILES), datetime.now(UTC) - timedelta(days=30), "copy")
    run = planned.run()
    fill(
        [
            file.target.removeprefix(f"s3://{BUCKET}/")
            for chunk in planned.reader.chunks()
            for file in run.planned(chunk)
        ]
    )
    journal = run.journal(APPLY)
    for chunk in planned.reader.chunks():
        rows = [run.row(file, "quarantined") for file in run.planned(chunk)]
        journal.effect(chunk.number, rows, run.at())
    return lambda: purge(planned.run(), planned, planned.watch())


def hidden(folder: Path, fill: Fill) -> tuple[Callable[[], object], Callable[[], object]]:
    """To apply a plan by delete markers, and to purge it."""
    from ingest.storage.buckets import Bucket
    from webapp.cleanup.applying import Applying
    from webapp.cleanup.purging import purge

    below = names(VERSIONED_FILES)
    fill([f"flink/{name}" for name in below])
    bucket = Bucket.of(ROOT)
    assert bucket is not None
    stats = bucket.stats([f"flink/{name}" for name in below])
    modified = {stat.modified for stat in stats.values()}
    planned = plan(folder / "hidden", below, modified.pop(), "delete_marker", stats)
    return (
        lambda: Applying(planned.run(), planned, planned.watch())(),
        lambda: purge(planned.run(), planned, planned.watch()),
    )


def names(files: int) -> list[str]:
    chance = Random(files)
    return [f"{JOB}/shared/{uuid.UUID(int=chance.getrandbits(128))}" for _ in range(files)]


@dataclass
class Planned:
    """A plan, and an audit that finds no reference."""

    reader: Any
    audit: Any
    now: datetime

    def fresh(self) -> Any:
        return self.audit

    def run(self) -> Any:
        from webapp.cleanup.places import TreeFiles
        from webapp.cleanup.rate_limit import RateLimit
        from webapp.cleanup.run import Run

        at = self.now + timedelta(hours=1)
        return Run(self.reader, TreeFiles(), RateLimit(None), lambda: at)

    def watch(self) -> Any:
        from webapp.cleanup.watching import PlannedPaths, Watch

        return Watch(lambda: iter(()), PlannedPaths(part["path"] for part in self.reader.parts()))


def plan(folder: Path, below: Sequence[str], modified: Any, way: str, stats: Any = None) -> Planned:
    from ingest.storage.plan_folder import PlanFolder
    from tests.webapp.cleanup.worlds import write_verdicts
    from webapp.cleanup.manifest import PlannedRoot, SearchedAudit
    from webapp.cleanup.plan_builder import PlanRequest, build
    from webapp.cleanup.plan_reader import PlanReader
    from webapp.cleanup.recheck import FreshAudit

    now = datetime.now(UTC) + timedelta(days=60)
    rows = [
        {
            "root": ROOT,
            "path": f"{ROOT}/{name}",
            "listed_path": f"{ROOT}/{name}",
            "bytes": len(b"state"),
            "modified": stats[f"flink/{name}"].modified if stats else modified,
            "first_seen_at": modified,
            "verdict": "orphan",
            "reason": "unreferenced",
            "kind": "unknown",
            "place": "shared",
            "cluster": "prod",
            "job_id": JOB,
            "unreferenced_since": now - timedelta(hours=12),
        }
        for name in below
    ]
    audit = FreshAudit("bench", now, write_verdicts(folder / "verdicts", rows, "bench"))
    root = PlannedRoot(ROOT, ROOT, QUARANTINE if way == "copy" else "", way)
    files = PlanFolder(str(folder / "plan"))
    name, _ = build(
        PlanRequest(
            verdict_files=audit.verdict_files,
            audit_id="bench",
            audits=[SearchedAudit("bench", now.isoformat())],
            as_of=now,
            age_guard=timedelta(hours=72),
            searched_roots=[ROOT],
            roots=[root],
            withheld=[],
            created_at=now,
            created_by="bench",
            lifetime=timedelta(days=7),
            grace=timedelta(days=3),
        ),
        files,
    )
    return Planned(PlanReader(files, name), audit, now)


if __name__ == "__main__":
    import django

    django.setup()
    main(Path(sys.argv[1]))
