"""Figures of RocksDB and of inputs out of the lake, as rules read them. Bounded in samples."""

from dataclasses import fields
from datetime import datetime, timedelta

from spark_jobs.diagnosis.samples import VertexGauges
from spark_jobs.diagnosis.window_contents import GAUGES_MS, Timed
from spark_jobs.fold.history import in_order
from webapp.lib.instants import epoch_ms
from webapp.work.lake import read_newest

MOST_SAMPLES = 50_000
_FIGURES = tuple(field.name for field in fields(VertexGauges) if field.name != "at_ms")


def read_gauges(cluster: str, job_id: str, start: datetime, end: datetime) -> Timed:
    """Of the newest part of the range that fits; raises what the storage raises."""
    where: dict[str, str | int] = {"cluster": cluster, "job_id": job_id}
    rows, _ = read_newest(
        "vertex_gauges",
        where,
        start - timedelta(milliseconds=GAUGES_MS),
        end,
        ("ts", *_FIGURES),
        MOST_SAMPLES,
    )
    # A replayed sample says the same: it counts once.
    once = {(row["vertex_id"], row.pop("ts")): row for row in rows.to_pylist()}
    return in_order(
        [
            (at_ms, VertexGauges(at_ms=at_ms, **row))
            for (_, at), row in once.items()
            if (at_ms := epoch_ms(at))
        ],
        MOST_SAMPLES,
    )
