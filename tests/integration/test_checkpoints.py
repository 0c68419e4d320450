"""Real clusters of three releases: their `_metadata` is read as their own Flink reads it, and jobs
whose checkpoints are destroyed go on from the copies at another place and have counted every record
once.
"""

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingest.metadata.handles import handles
from spark_jobs.replication.request import COMPLETE, Request, Result
from spark_jobs.replication.round import NotCopied, replicate
from tests.ingest.metadata.finding import find
from tests.lab.cluster import Lab
from tests.lab.incidents import INCIDENTS
from tests.lab.jars import compile_java, flink_jars
from tests.lab.one_process import start
from tests.lab.releases import RELEASES

pytestmark = [pytest.mark.integration, pytest.mark.long]

SOURCE = Path(__file__).parent / "java" / "ListHandles.java"
MERGED = "summed-merged"
PLAYED = {"1.12.5": ("summed",), "1.20.5": ("summed", MERGED), "2.3.0": ("summed", MERGED)}
"""Side by side in one cluster of each release."""
REST_AT = "3000"
"""Records a second of the restored jobs: several checkpoints of theirs, and no minute until the
end.
"""
MOST_ROUNDS = 12
"""Of one job, which ends after some thirty checkpoints."""
LIMIT, KEYS = (int(INCIDENTS["summed"].arguments[name]) for name in ("limit", "keys"))

Streams = Counter[tuple[str, str, int, str, str, int]]
"""File, operator, subtask (-1: coordinator), class, path or name, bytes."""


@dataclass
class Round:
    """What it says of itself, and how many files of state were not there before, as the file system
    tells: None after several tries.
    """

    result: Result
    new_files: int | None

    @property
    def is_partial(self) -> bool:
        return (
            self.result.state == COMPLETE and 0 < self.result.copied_files < self.result.files - 1
        )


@dataclass
class Copied:
    """One job. ``restored_from`` is what Flink says of the job that was started from the copy,
    ``counts`` how often that saw each key.
    """

    rounds: list[Round] = field(default_factory=list)
    restored_from: int = -1
    counts: dict[int, int] = field(default_factory=dict)


@dataclass
class Played:
    ours: Streams
    of_flink: Streams
    jobs: dict[str, Copied]


@pytest.fixture(
    scope="module",
    params=("2.3.0", "1.12.5", "1.20.5"),
)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    version, folder = request.param, tmp_path_factory.mktemp("checkpoints")
    with start(version, "summed", slot=8, folder=folder / "flink") as lab:
        ids = {name: lab.job_id if name == "summed" else lab.play(name) for name in PLAYED[version]}
        jobs = {name: Copied() for name in ids}
        for completed in (2, 3, 4, 5):
            for name, job_id in ids.items():
                lab.wait_for(
                    lambda account, least=completed: account["counts"]["completed"] >= least,
                    job_id=job_id,
                )  # type: ignore[misc]
                jobs[name].rounds.append(one_round(lab, job_id, folder / "copies" / name))
        rounds = jobs["summed"].rounds
        # RocksDB may have rewritten all its files between two of them, the more so where the
        # machine is busy.
        while not any(one.is_partial for one in rounds[1:]) and len(rounds) < MOST_ROUNDS:
            seen = rounds[-1].result.checkpoint_id or 0
            lab.wait_for(
                lambda account, seen=seen: account["latest"]["completed"]["id"] > seen,
                job_id=ids["summed"],
            )  # type: ignore[misc]
            rounds.append(one_round(lab, ids["summed"], folder / "copies" / "summed"))
        lab.savepoint()
        files = find(str(kept(lab, folder / "kept")))
        assert len(files) >= 2
        restored_from_copies(lab, ids, jobs, folder / "destroyed")
        paths = [file.path for file in files]
        ours = Counter(
            (
                file.path,
                handle.operator.operator_id,
                -1 if handle.subtask is None else handle.subtask,
                stream.handle_class,
                stream.path or stream.name or "",
                stream.bytes,
            )
            for file in files
            for handle in handles(file.pieces())
            if (stream := handle.stream)
        )
        yield Played(ours, listed_by_flink(version, paths, folder / "classes"), jobs)


def kept(lab: Lab, folder: Path) -> Path:
    """Each `_metadata` there is; Flink deletes older checkpoints while the jobs run."""
    for where in (lab.checkpoint_dir, lab.layout.savepoints):
        for path in where.rglob("_metadata"):
            target = folder / path.relative_to(lab.layout.folder)
            target.parent.mkdir(parents=True)
            shutil.copy(path, target)
    return folder


def restored_from_copies(
    lab: Lab, ids: dict[str, str], jobs: dict[str, Copied], destroyed: Path
) -> None:
    for job_id in ids.values():
        lab.cancel(job_id=job_id)
    for path in lab.layout.folder.glob("*counts.*"):
        path.unlink()
    lab.checkpoint_dir.rename(destroyed)
    lab.checkpoint_dir.mkdir()
    again = {
        name: lab.play(name, restore=copied.rounds[-1].result.location, rate=REST_AT)
        for name, copied in jobs.items()
    }
    for name, job_id in again.items():
        account = lab.wait_for(lambda account: account["counts"]["completed"] >= 1, job_id=job_id)
        jobs[name].restored_from = account["latest"]["restored"]["id"]
    for name, job_id in again.items():
        wait_finished(lab, job_id)
        written = Path(INCIDENTS[name].arguments["counts-to"].format(folder=lab.layout.folder))
        lines = [
            line.split()
            for path in written.parent.glob(f"{written.name}.*")
            for line in path.read_text().splitlines()
        ]
        jobs[name].counts = {int(key): int(seen) for key, seen in lines}


def one_round(lab: Lab, job_id: str, copy: Path) -> Round:
    """A checkpoint may be subsumed as its last file is copied; the next try takes the next one."""
    root = f"file:{lab.checkpoint_dir}"
    request = Request("one", f"{root}/{job_id}", str(copy), None, ((root, None),))
    before = inodes(copy)
    for tries in range(4):
        try:
            result = replicate(request)
            return Round(result, None if tries or result.overtaken else len(inodes(copy) - before))
        except NotCopied:
            time.sleep(1)
    return Round(replicate(request), None)


def inodes(copy: Path) -> set[tuple[Path, int]]:
    """Of the files of state."""
    return {
        (path, path.stat().st_ino)
        for path in copy.rglob("*")
        if path.is_file() and not {"_weir", "_metadata"} & set(path.parts)
    }


def wait_finished(lab: Lab, job_id: str, within_s: float = 240) -> None:
    deadline = time.monotonic() + within_s
    while (state := lab.get(f"/jobs/{job_id}")["state"]) != "FINISHED":
        assert state in ("CREATED", "RUNNING", "INITIALIZING") and time.monotonic() < deadline, (
            state
        )
        time.sleep(0.5)


def listed_by_flink(version: str, files: list[str], classes: Path) -> Streams:
    jars = flink_jars(RELEASES[version])
    compile_java([SOURCE], f"{jars}/*", classes)
    command = ["java", "-Xmx512m", "-cp", f"{classes}:{jars}/*", "ListHandles", *files]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return Counter(
        (line[0], line[1], int(line[2]), line[3], line[4], int(line[5]))
        for line in lines
        if len(line) == 6
    )


def test_every_stream_is_the_one_that_flinks_loader_sees(played: Played) -> None:
    assert played.ours == played.of_flink
    classes = {key[3] for key in played.ours}
    assert classes >= {"ByteStreamStateHandle", "FileStateHandle", "RelativeFileStateHandle"}
    assert ("SegmentFileStateHandle" in classes) == (MERGED in played.jobs)


def test_every_job_is_restored_from_the_copy_alone(played: Played) -> None:
    for name, copied in played.jobs.items():
        assert copied.restored_from == copied.rounds[-1].result.checkpoint_id, name
        assert copied.counts == dict.fromkeys(range(KEYS), LIMIT // KEYS), name


def test_a_later_round_copies_only_what_is_new(played: Played) -> None:
    for name, copied in played.jobs.items():
        made = [
            one
            for one in copied.rounds
            if one.result.state == COMPLETE and one.new_files is not None
        ]
        assert made and [one.result.copied_files for one in made] == [
            one.new_files for one in made
        ], name
    # Merged files of so little state grow with each checkpoint, and are copied as far as they go.
    assert any(one.is_partial for one in played.jobs["summed"].rounds[1:]), played.jobs[
        "summed"
    ].rounds
