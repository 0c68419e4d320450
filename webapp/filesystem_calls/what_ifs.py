"""What other settings would make of the calls of a job: file merging, the inline threshold, parallelism, how often it takes checkpoints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.utils.translation import gettext

from spark_jobs.filesystem_calls.calls import calls_to_delete, calls_to_write
from spark_jobs.filesystem_calls.checkpoint_files import KEPT, NOT_IN_FILE, CheckpointFiles
from spark_jobs.filesystem_calls.inlining import LARGEST_BYTES, Inlined, inlined, inlined_at, knee, observed_threshold, unmerged_files
from spark_jobs.filesystem_calls.merging import merged
from webapp.filesystem_calls.job_calls import JobCalls
from webapp.lib.quantities import bytes_text, duration_text
from webapp.storage.file_settings import MERGING, FileSettings

NOW, MERGED, UNMERGED, KNEE, LARGEST, HALF, TWICE, PAUSE = "now", "merged", "unmerged", "knee", "largest", "half", "twice", "pause"
RATES_PER_S = (1, 10, 100)
"""Calls a second that one job may be allowed."""


@dataclass(frozen=True)
class WhatIf:
    """``metadata_bytes`` and ``heap_bytes`` (inline state on the JobManager's heap) are None where they are as now or not known."""

    key: str
    files_least: int
    files_most: int
    calls_least: int
    calls_most: int
    per_s: float | None
    metadata_bytes: int | None
    heap_bytes: int | None
    setting: str


@dataclass(frozen=True)
class Floor:
    """The shortest interval at which a checkpoint that costs what it costs now stays within so many calls a second."""

    per_s: int
    interval_ms: float


@dataclass(frozen=True)
class WhatIfs:
    """``curve``: by inline threshold, ascending; ``knee``: the point of it where heap buys most, ``at_now``: that of the present."""

    rows: Sequence[WhatIf]
    curve: Sequence[Inlined]
    at_now: Inlined
    knee: Inlined | None
    floors: Sequence[Floor]
    threshold_key: str
    retained: int
    unknown: Sequence[str]

    def row(self, key: str) -> WhatIf | None:
        return next((one for one in self.rows if one.key == key), None)


def what_ifs(
    calls: JobCalls, files: CheckpointFiles, settings: FileSettings, taskmanagers: int | None, min_pause_ms: int | None
) -> WhatIfs:
    told = observed_threshold(files)
    threshold = settings.threshold_bytes
    unknown = []
    if told and not told[0] <= threshold < told[1]:
        threshold = told[0]
        unknown.append(
            gettext("The threshold of this job is another: %(inline)s are inline, %(beside)s are not.")
            % {"inline": bytes_text(told[0]), "beside": bytes_text(told[1])}
        )
    if calls.merged_files:
        unknown.append(gettext("The inline threshold does not apply where files are merged."))
    elif taskmanagers is None and settings.can_merge is not False:
        unknown.append(gettext("How many TaskManagers it runs on is not known: what merging would bring is worked out for one."))
    curve = inlined(files, settings.retained)
    at_now = inlined_at(files, settings.retained, threshold)
    best = knee(curve)
    now = replace(
        _row(calls, NOW, calls.files_least, calls.files_most, ""),
        calls_least=calls.least.total,
        calls_most=calls.most.total,
        per_s=calls.per_s,
        metadata_bytes=calls.metadata_bytes,
        heap_bytes=at_now.heap_bytes,
    )
    rows = [now, *_of_files(calls, files, settings, taskmanagers or 1, threshold)]
    if curve:
        keyed = ((KNEE, best), (LARGEST, inlined_at(files, settings.retained, LARGEST_BYTES)))
        rows += [_of_threshold(calls, key, one, settings.threshold_key) for key, one in keyed if one and one.threshold_bytes > threshold]
    rows += _of_pace(calls, now, min_pause_ms)
    floors = [Floor(rate, calls.most.total * 1000 / rate) for rate in RATES_PER_S]
    return WhatIfs(rows, curve, at_now, best, floors, settings.threshold_key, settings.retained, unknown)


def _of_files(calls: JobCalls, files: CheckpointFiles, settings: FileSettings, taskmanagers: int, threshold: int) -> Iterator[WhatIf]:
    if calls.merged_files:
        apart = unmerged_files(files, threshold)
        yield _row(calls, UNMERGED, apart, apart, f"{MERGING}: false")
    elif settings.can_merge is not False:
        found = merged(files, taskmanagers, settings.threads, settings.largest_file_bytes)
        yield replace(_row(calls, MERGED, found.least, found.most, f"{MERGING}: true"), metadata_bytes=None, heap_bytes=0)
    written = (files.written != KEPT) & (files.file_of != NOT_IN_FILE)
    of_subtasks = len(np.unique(files.file_of[written & (files.subtask != NOT_IN_FILE)]))
    half = calls.files_most - of_subtasks // 2
    yield _row(calls, HALF, half, half, gettext("half the parallelism of every vertex, if each subtask then writes as many files as now"))


def _of_threshold(calls: JobCalls, key: str, one: Inlined, setting: str) -> WhatIf:
    row = _row(calls, key, one.files, one.files, f"{setting}: {one.threshold_bytes}b")
    return replace(row, metadata_bytes=one.metadata_bytes, heap_bytes=one.heap_bytes)


def _of_pace(calls: JobCalls, now: WhatIf, min_pause_ms: int | None) -> Iterator[WhatIf]:
    every, lasts = calls.pace.every_ms, calls.pace.duration_ms
    if every:
        yield replace(
            now,
            key=TWICE,
            per_s=calls.most.total * 500 / every,
            setting=gettext("an interval of %(every)s") % {"every": duration_text(2 * every)},
        )
    if lasts and min_pause_ms is not None:
        setting = gettext("checkpoints take longer than their interval: a min pause of %(min_pause_ms)s then sets the pace") % {
            "min_pause_ms": duration_text(min_pause_ms)
        }
        yield replace(now, key=PAUSE, per_s=calls.most.total * 1000 / (lasts + min_pause_ms), setting=setting)


def _row(calls: JobCalls, key: str, least: int, most: int, setting: str) -> WhatIf:
    total = _total(calls, most)
    per_s = total * 1000 / calls.pace.every_ms if calls.pace.every_ms else None
    return WhatIf(key, least, most, _total(calls, least), total, per_s, None, None, setting)


def _total(calls: JobCalls, files: int) -> int:
    """The same bytes in so many files."""
    sizes = np.full(files, -(-calls.file_bytes // max(files, 1)), np.int64)
    return calls_to_write(sizes, calls.metadata_bytes, safely=calls.safely).total + calls_to_delete(files).total
