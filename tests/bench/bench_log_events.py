"""Typed events out of a raw log: Spark on two cores, warm session, output written; against grep for
the same patterns.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from ingest.flink_logs.files import find, read_file
from ingest.flink_logs.layouts import FLINK
from ingest.flink_logs.patterns import PATTERNS
from ingest.lake.store import Lake
from spark_jobs.arrow_schemas import INSTANT, Make
from spark_jobs.log_archives import ARCHIVE_OPTIONS, LogArchives
from spark_jobs.session import open_session
from spark_jobs.step_schemas import EVENT
from spark_jobs.transforms import log_records
from spark_jobs.transforms.event_batches import event_batches
from spark_jobs.worker_rows import WorkerRows
from tests.bench.generated_log import generated_log
from tests.bench.harness import Report

MOST_TIMES_GREP = 6
MOST_TIMES_PLAIN = 2
"""Records in an envelope or as JSON, against the same ones in Flink's own layout."""
OTHER_FORMS_MB = 100


def run(report: Report) -> None:
    os.environ.pop("SPARK_REMOTE", None)
    os.environ["SPARK_MASTER"] = "local[2]"
    log = generated_log(int(os.environ.get("WEIR_BENCH_LOG_MB", "700")))
    warm_up = generated_log(20)
    session = open_session("weir bench log events", options=ARCHIVE_OPTIONS)
    try:
        with tempfile.TemporaryDirectory() as folder:
            reader = LogArchives(
                session, Lake(f"{folder}/lake"), "bench", FLINK, "UTC", "events", datetime.now(UTC)
            )
            for number in range(2):
                _events(reader, warm_up, Path(folder) / f"warm-up-{number}")
            grep_s = min(_grep(log) for _ in range(2))
            events_s = min(
                _timed_events(reader, log, Path(folder) / f"events-{number}") for number in range(2)
            )
            report("log events: grep -cE of the same patterns", grep_s, "s")
            report(
                "log events: raw text to typed events, written",
                events_s,
                "s",
                baseline=grep_s,
                budget=MOST_TIMES_GREP,
            )
            reader.load(find([str(warm_up)])[0])
            started = time.perf_counter()
            rows = reader.load(find([str(log)])[0])
            report(
                "log events: the same files into the lake",
                time.perf_counter() - started,
                "s",
                baseline=grep_s,
            )
            report("log events: records kept in the lake", rows, "rows")
            plain = generated_log(OTHER_FORMS_MB)
            plain_s = min(
                _timed_events(reader, plain, Path(folder) / f"plain-{number}")
                for number in range(2)
            )
            for name, write in (("Kubernetes (CRI)", _as_cri), ("JSON", _as_json)):
                other = Path(folder) / f"{write.__name__}.log"
                write(plain, other)
                seconds = min(
                    _timed_events(reader, other, Path(folder) / f"{write.__name__}-{number}")
                    for number in range(2)
                )
                report(
                    f"log events: {OTHER_FORMS_MB} MB of them as {name}",
                    seconds,
                    "s",
                    baseline=plain_s,
                    budget=MOST_TIMES_PLAIN,
                )
    finally:
        session.stop()


def _as_cri(log: Path, out: Path) -> None:
    with log.open("rb") as lines, out.open("wb") as written:
        written.writelines(b"2026-11-21T04:00:00.123456789Z stdout F " + line for line in lines)


def _as_json(log: Path, out: Path) -> None:
    """As log4j2's ``JsonTemplateLayout`` writes it for ECS."""
    with out.open("w", encoding="utf-8") as written:
        for records, _ in read_file(str(log), keep="all"):
            for record in records:
                message, _, trace = record.message.partition("\n")
                said = {
                    "@timestamp": record.ts.isoformat(timespec="milliseconds"),
                    "log.level": record.level,
                    "message": message,
                }
                said |= {
                    "log.logger": record.logger,
                    **({"error.stack_trace": trace} if trace else {}),
                }
                written.write(json.dumps(said, ensure_ascii=False, separators=(",", ":")) + "\n")


def _timed_events(reader: LogArchives, log: Path, out: Path) -> float:
    started = time.perf_counter()
    _events(reader, log, out)
    return time.perf_counter() - started


def _events(reader: LogArchives, log: Path, out: Path) -> None:
    """One pass: this log holds no record twice, which the job would find out."""
    read = log_records.by_block(
        reader.session, find([str(log)])[0], reader.layout, reader.time_zone, reader.keep
    )
    WorkerRows(
        read.source_rows,
        partial(_recognised, read=read.make, observed_at=reader.observed_at),
        EVENT,
    ).write(str(out))


def _recognised(
    numbers: Iterable[pa.RecordBatch], read: Make, observed_at: datetime
) -> Iterator[pa.RecordBatch]:
    stamps = {"cluster": pa.scalar("bench"), "observed_at": pa.scalar(observed_at, INSTANT)}
    for events in event_batches(read(numbers)):
        columns = [
            pa.repeat(stamps[name], events.num_rows) if name in stamps else events.column(name)
            for name in EVENT.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=EVENT)


def _grep(log: Path) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".ere") as patterns:
        patterns.write("\n".join(f" - {_as_ere(pattern.regex)}" for pattern in PATTERNS) + "\n")
        patterns.flush()
        started = time.perf_counter()
        command = ["grep", "-cE", "-f", patterns.name, str(log)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})
        return time.perf_counter() - started


def _as_ere(regex: str) -> str:
    """The same expression for grep, which knows no lazy repetition, no groups that do not capture
    and no ``\\n``.

    Repetitions are not counted: with counted ones the whole table exceeds the 1,024 states that
    grep holds, and it is a hundred times as slow.
    """
    plain = (
        regex.removeprefix("^")
        .replace("(?:", "(")
        .replace(r"[^\n]*?", ".*")
        .replace(r"[^\n]*", ".*")
        .replace(r"\n", "")
    )
    plain = re.sub(
        r"(?<!\\)\{([0-9]+)(?:,[0-9]+)?\}", lambda counted: "*" if counted[1] == "0" else "+", plain
    )
    return re.sub(r"\\(['/])", r"\1", plain)
