"""A fleet that checkpoints every minute, as the collector and its logs would tell of it: lake rows,
minute by minute.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from ingest.records import (
    Checkpoint,
    Edge,
    Job,
    LogRecord,
    Observed,
    Setting,
    SlotSharing,
    StateSince,
    Vertex,
    VertexCheckpoint,
    VertexMetrics,
)

BEGINS = datetime(2026, 11, 14, tzinfo=UTC)
INTERVAL = timedelta(minutes=1)
JOBS_OF_A_CLUSTER = 50
SAMPLES = 2
STATE_BYTES = 50_000_000
_SETTINGS = tuple(
    Setting(f"state.backend.setting-{number}", "a value as long as most are")
    for number in range(30)
)


@dataclass(frozen=True)
class Fleet:
    """``jobs`` jobs of ``vertices`` vertices in a row, each of parallelism ``subtasks``, 50 jobs a
    cluster.

    Every name and id holds the numbers of its cluster and of its job in that cluster, as eight hex
    digits each: rows of one cluster become those of another where one number is replaced by the
    other.
    """

    jobs: int
    vertices: int
    subtasks: int
    with_logs: bool = True

    def minute(self, number: int) -> Iterator[Observed]:
        """All that is told of the minute of this number: one checkpoint and two samples of each
        job.
        """
        for job in range(self.jobs):
            yield from self.of_job(*divmod(job, JOBS_OF_A_CLUSTER), number)

    def of_job(self, cluster_number: int, job: int, number: int) -> Iterator[Observed]:
        """What is told of one job of a cluster in a minute."""
        began = BEGINS + number * INTERVAL
        cluster = cluster_name(cluster_number)
        job_id = job_id_of(cluster_number, job)
        vertices = [
            f"{cluster_number:08x}{job:08x}{vertex:016x}" for vertex in range(self.vertices)
        ]
        ended = began + timedelta(seconds=20)
        parts = [self._part(job_id, vertex, number, began) for vertex in vertices]
        yield Observed(
            cluster,
            ended,
            "rest",
            (self._job(job_id, vertices), self._checkpoint(job_id, number, began), *parts),
        )
        for sample in range(SAMPLES):
            ts = began + timedelta(seconds=30 * sample + 5)
            yield Observed(
                cluster, ts, "rest", tuple(self._metrics(job_id, vertex, ts) for vertex in vertices)
            )
        if self.with_logs:
            yield Observed(
                cluster, ended, "log", tuple(self._lines(cluster, job_id, number, began))
            )

    def _job(self, job_id: str, vertices: list[str]) -> Job:
        return Job(
            job_id,
            f"job {job_id}",
            "RUNNING",
            BEGINS,
            None,
            "1.20.5",
            self.subtasks,
            tuple(
                Vertex(one, f"operator {place}", self.subtasks, 128, "RUNNING")
                for place, one in enumerate(vertices)
            ),
            tuple(Edge(one, other, "HASH") for one, other in pairwise(vertices)),
            tuple(SlotSharing(one, "a group that all are in") for one in vertices),
            (StateSince("CREATED", BEGINS), StateSince("RUNNING", BEGINS + timedelta(seconds=3))),
            0,
            "exactly_once",
            60_000,
            600_000,
            0,
            1,
            True,
            True,
            False,
            0,
            0,
            "rocksdb",
            "filesystem",
            False,
            configuration=_SETTINGS,
        )

    def _checkpoint(self, job_id: str, number: int, began: datetime) -> Checkpoint:
        tasks = self.vertices * self.subtasks
        return Checkpoint(
            job_id,
            number + 1,
            began,
            "COMPLETED",
            False,
            None,
            "CHECKPOINT",
            2000,
            STATE_BYTES + 1000 * number,
            1_000_000,
            0,
            0,
            tasks,
            tasks,
            f"file:/checkpoints/{job_id}/chk-{number + 1}",
            False,
            flink_version="1.20.5",
        )

    def _part(self, job_id: str, vertex: str, number: int, began: datetime) -> VertexCheckpoint:
        each = range(self.subtasks)
        acks = tuple(began + timedelta(milliseconds=1000 + 10 * subtask) for subtask in each)

        def ms(base: int) -> tuple[int, ...]:
            return tuple(base + 10 * subtask for subtask in each)

        return VertexCheckpoint(
            job_id,
            number + 1,
            began,
            vertex,
            "COMPLETED",
            2000,
            STATE_BYTES,
            1_000_000,
            0,
            0,
            self.subtasks,
            self.subtasks,
            acks,
            ms(1000),
            ms(100),
            ms(50),
            ms(20),
            ms(800),
            ms(1_000_000),
            ms(10_000),
            (False,) * self.subtasks,
            (False,) * self.subtasks,
        )

    def _metrics(self, job_id: str, vertex: str, ts: datetime) -> VertexMetrics:
        def each(value: float) -> tuple[float, ...]:
            return (value,) * self.subtasks

        return VertexMetrics(
            job_id,
            vertex,
            ts,
            self.subtasks,
            each(0.2),
            each(0.3),
            each(0.0),
            each(400.0),
            each(0.0),
            each(600.0),
            None,
            each(1000.0),
            each(1000.0),
            None,
            (0,) * self.subtasks,
            tuple(f"host-{subtask % 4}" for subtask in range(self.subtasks)),
            tuple(f"tm-{subtask % 4}" for subtask in range(self.subtasks)),
            ("RUNNING",) * self.subtasks,
            ts,
            *((round(1000 * ts.timestamp()),) * self.subtasks,) * 2,
        )

    def _lines(
        self, cluster: str, job_id: str, number: int, began: datetime
    ) -> Iterator[LogRecord]:
        epoch_ms = round(began.timestamp() * 1000)
        kind = "CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}"
        told = (
            (0, f"Triggering checkpoint {number + 1} (type={kind}) @ {epoch_ms} for job {job_id}."),
            (
                2,
                f"Completed checkpoint {number + 1} for job {job_id} "
                f"({STATE_BYTES} bytes, checkpointDuration=2000 ms, finalizationTime=10 ms).",
            ),
        )
        process = f"jobmanager of {cluster}.log"
        for place, (second, message) in enumerate(told):
            ts = began + timedelta(seconds=second)
            digest = hashlib.sha256(f"{ts}{message}".encode()).hexdigest()[:32]
            logger = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"
            yield LogRecord(
                process, ts, "INFO", logger, message, digest, 0, process, 1000 * number + place
            )


def cluster_name(cluster: int) -> str:
    return f"cluster-{cluster:08x}"


def job_id_of(cluster: int, job: int) -> str:
    return f"{cluster:08x}{job:024x}"
