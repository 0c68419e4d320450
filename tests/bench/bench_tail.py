"""Tailing and folding a large log in cycles, as the collector does, down to the records."""

import os
import time
from datetime import UTC, datetime
from typing import Any

from ingest.flink_logs.tail import read_new
from ingest.sources import LogSource
from tests.bench.generated_log import generated_log
from tests.bench.harness import Report

LEAST_MB_PER_S = 30


def run(report: Report) -> None:
    log = generated_log(int(os.environ.get("WEIR_BENCH_LOG_MB", "700")))
    source = LogSource(globs=(str(log),))
    cursor: dict[str, Any] | None = None
    records, cycles = 0, 0
    started = time.perf_counter()
    while (result := read_new(source, "bench", cursor, datetime.now(UTC))).observed:
        records += sum(len(observed.records) for observed in result.observed)
        cursor, cycles = result.cursor, cycles + 1
    seconds = time.perf_counter() - started
    megabytes = log.stat().st_size / 1e6
    report("tail: records made", records, f"in {cycles} cycles")
    report(
        f"tail: {megabytes:.0f} MB tailed and folded",
        megabytes / seconds,
        "MB/s",
        at_least=LEAST_MB_PER_S,
    )
