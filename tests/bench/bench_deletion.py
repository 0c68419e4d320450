"""How many files a clean-up deletes in a second, all below one prefix, beside a plain loop of s3fs
in the same store.

Everything is as in operation, with plan, journal and looks at each file; only the audit is made up.
The store is moto, which copies all versions of a bucket for each page of them: what is hidden by
delete markers is measured with few files. Figures are of CPU, Weir's or that of both processes,
but for the one that says so: a store of one process answers no faster than its core allows.
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

from tests.bench.harness import Report
from tests.bench.processes import ticks_with_ended_children

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
    for name, value, unit, baseline, at_least in json.loads(told.stdout.splitlines()[-1]):
        report(name, value, unit, baseline=baseline, at_least=at_least)


@dataclass
class Timed:
    """What it took to act on a number of files."""

    files: int
    wall_s: float
    own_cpu_s: float
    store_cpu_s: float

    @property
    def files_per_cpu_s(self) -> float:
        """Of both processes."""
        return self.files / (self.own_cpu_s + self.store_cpu_s)


def main(folder: Path) -> None:
    figures: list[tuple[str, float, str, float | None, float | None]] = []

    def tell(name: str, done: Timed, looped: Timed, at_least: float | None) -> None:
        rate = done.files_per_cpu_s
        figures.append(
            (f"{name}: beside a loop", rate, "files/s", looped.files_per_cpu_s, at_least)
        )
        figures.append((f"{name}: by the clock", done.files / done.wall_s, "files/s", None, None))

    with store(folder) as opened:
        looped = loop(opened)
        purged = opened.timed(FILES, purge_of_quarantine(folder, opened))
        own = purged.files / purged.own_cpu_s
        figures.append(("purged from a quarantine: CPU of Weir", own, "files/s", None, FILES_PER_S))
        tell("purged from a quarantine", purged, looped, FASTER)
    with store(folder, "Enabled") as opened:
        looped = loop(opened)
        apply, purge = hidden(folder, opened)
        for name, act in (("hidden by delete markers", apply), ("purged behind them", purge)):
            tell(name, opened.timed(VERSIONED_FILES, act), looped, None)
    print(json.dumps(figures))


@dataclass
class Store:
    """A store that was started."""

    folder: Path
    process: "subprocess.Popen[str]"

    def fill(self, keys: Sequence[str]) -> None:
        assert self.process.stdin and self.process.stdout
        (self.folder / "keys").write_text("\n".join(keys))
        print(self.folder / "keys", file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "filled\n"

    def timed(self, files: int, act: Callable[[], object]) -> Timed:
        before = time.perf_counter(), time.process_time(), self._cpu_s()
        act()
        after = time.perf_counter(), time.process_time(), self._cpu_s()
        return Timed(files, *(late - early for early, late in zip(before, after, strict=True)))

    def _cpu_s(self) -> float:
        return ticks_with_ended_children(self.process.pid) / os.sysconf("SC_CLK_TCK")


@contextmanager
def store(folder: Path, *versioning: str) -> Iterator[Store]:
    from fsspec.config import conf

    command = [sys.executable, "-m", "tests.bench.simulated_store", BUCKET, *versioning]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        endpoint = process.stdout.readline().strip()
        os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        conf["s3"] = {
            "key": "bench",
            "secret": "bench",
            "client_kwargs": {"endpoint_url": endpoint},
        }

        yield Store(folder, process)
        process.stdin.close()


def loop(opened: Store) -> Timed:
    """Where each is deleted by a request of its own."""
    import s3fs

    keys = [f"loop/{number}" for number in range(LOOPED_FILES)]
    opened.fill(keys)
    filesystem = s3fs.S3FileSystem()
    filesystem.exists(BUCKET)

    def delete() -> None:
        for key in keys:
            filesystem.rm_file(f"{BUCKET}/{key}")

    return opened.timed(LOOPED_FILES, delete)


def purge_of_quarantine(folder: Path, opened: Store) -> Callable[[], object]:
    """Of files that were moved there."""
    from ingest.storage.tree import Stat
    from tests.webapp.cleanup.remote import RemotePlan
    from webapp.cleanup.journal import APPLY

    old = datetime.now(UTC) - timedelta(days=30)
    stats = dict.fromkeys(names(FILES), Stat(len(b"state"), old))
    planned = RemotePlan(folder / "moved", ROOT, stats, QUARANTINE, "copy")
    run = planned.run()
    opened.fill(
        [
            file.target.removeprefix(f"s3://{BUCKET}/")
            for chunk in planned.reader.chunks()
            for file in run.planned(chunk)
        ]
    )
    journal = run.journal(APPLY)
    for chunk in planned.reader.chunks():
        rows = [run.row(file, "quarantined") for file in run.planned(chunk)]
        journal.write_effect(chunk.number, rows, run.at())
    return planned.purge


def hidden(folder: Path, opened: Store) -> tuple[Callable[[], object], Callable[[], object]]:
    """To apply a plan by delete markers, and to purge it."""
    from ingest.storage.buckets import Bucket
    from tests.webapp.cleanup.remote import RemotePlan

    below = names(VERSIONED_FILES)
    opened.fill([f"flink/{name}" for name in below])
    bucket = Bucket.of(ROOT)
    assert bucket is not None
    stats = bucket.stats([f"flink/{name}" for name in below])
    below_root = {key.removeprefix("flink/"): stat for key, stat in stats.items()}
    planned = RemotePlan(folder / "hidden", ROOT, below_root, "", "delete_marker")
    return (
        planned.apply,
        planned.purge,
    )


def names(files: int) -> list[str]:
    chance = Random(files)
    return [f"{JOB}/shared/{uuid.UUID(int=chance.getrandbits(128))}" for _ in range(files)]


if __name__ == "__main__":
    import django

    django.setup()
    main(Path(sys.argv[1]))
