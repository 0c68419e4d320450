"""Calls of a job's checkpoints to the NameNode of their storage: how many, and what makes them
fewer.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.urls import reverse

from ingest.messages import Message, join_messages, message
from spark_jobs.diagnosis.rules.storage_small_files import CALLS_PER_S
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Asked,
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Fact,
    Facts,
    Link,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.filesystem_calls.job_calls import JobCalls
from webapp.analyses.filesystem_calls.lookup import look_up_calls
from webapp.charts.filesystem_calls import files_and_heap
from webapp.findings.overrides import limits_of
from webapp.fleet.models import JobCurrent
from webapp.storage.file_settings import MERGING
from webapp.storage.replication_factor import ReplicationFactor, factor_of_path

LABELS = {
    "create": "create",
    "add_block": "addBlock",
    "fsync": "fsync",
    "complete": "complete",
    "rename": "rename",
    "delete": "delete",
    "get_file_info": "getFileInfo",
    "mkdirs": "mkdirs",
    "get_listing": "getListing",
}
"""As the client protocol of HDFS names them, and the NameNode's metrics."""
MEANINGS = {
    "create": message("one for each file"),
    "add_block": message(
        "one for each block of a file, of 128 MiB unless dfs.blocksize says otherwise"
    ),
    "fsync": message("one for each file: Flink flushes it before it closes it"),
    "complete": message("one for each file; more where a block is not replicated yet"),
    "rename": message("the _metadata, once it is whole"),
    "delete": message(
        "later, as it is subsumed: each file, the _metadata, the directory; in-flight data by each "
        "subtask in a file"
    ),
    "get_file_info": message(
        "whether the _metadata is there, how long it became; and after each delete of what is gone"
    ),
    "mkdirs": message("the directory of the checkpoint"),
    "get_listing": message("none: Flink lists no directory to take a checkpoint"),
}
NOT_KNOWN = message("Its files are not known.")


@analysis(
    "filesystem-calls",
    title=message("File system calls"),
    summary=message(
        "what one checkpoint asks of the NameNode of its storage, and what would reduce it"
    ),
    tab="checkpoints",
    in_report=True,
    is_slow=True,
)
def filesystem_calls(job: JobCurrent, asked: Asked) -> Document:
    """By what was read of its checkpoints up to now: an audit reads those of an ended job, too."""
    calls_lookup = look_up_calls(job, asked.now)
    calls = calls_lookup.calls
    if calls is None:
        return Document(Verdict("unknown", NOT_KNOWN), (NotKnown(calls_lookup.why),))
    limit = limits_of(job.cluster, job.job_id, job.name)[CALLS_PER_S]
    blocks: list[Block] = [NotKnown(reason) for reason in calls.unknown]
    if lines := tuple(_advice(calls)):
        blocks.append(Advice(lines, message("Fewer files")))
    elif calls.curve:
        blocks.append(_above_knee(calls))
    if calls.curve:
        subtitle = message("files of a checkpoint against heap of the JobManager")
        blocks.append(Chart("threshold", message("Inline threshold"), subtitle=subtitle))
    blocks += [_facts(calls, factor_of_path(calls.metadata_path)), _kinds(calls)]
    return Document(_verdict(calls, limit), tuple(blocks))


@filesystem_calls.draws("threshold")
def threshold(job: JobCurrent, asked: Asked) -> Drawn:
    calls_lookup = look_up_calls(job, asked.now)
    calls = calls_lookup.calls
    if calls is None or not calls.curve:
        merged = message("Its files are merged, or it writes none beside its _metadata.")
        title = message("No threshold changes its files")
        return Drawn(empty_title=title, empty_text=calls_lookup.why or merged)
    points = [(one.threshold_bytes, one.files, one.heap_bytes) for one in calls.curve]
    best = calls.knee.threshold_bytes if calls.knee else None
    heap = message("Heap: inline state of all retained checkpoints and of the one under way.")
    return Drawn(files_and_heap(points, calls.at_now.threshold_bytes, best), heap)


def _verdict(calls: JobCalls, limit: float) -> Verdict:
    cost = message(
        "One checkpoint costs {calls:name} calls for {files:name} files beside its _metadata",
        calls=_range(calls.least.total, calls.most.total),
        files=_range(calls.files_least, calls.files_most),
    )
    if calls.per_s is None or calls.pace.every_ms is None:
        return Verdict("unknown", message("{cost:message}.", cost=cost))
    paced = message(
        "{cost:message}; at one every {every:duration} that is {per_s:decimal1} calls/s.",
        cost=cost,
        every=calls.pace.every_ms,
        per_s=calls.per_s,
    )
    if calls.per_s < limit:
        return Verdict("ok", paced)
    above = message("More than {limit:number} calls/s is a high rate for one job.", limit=limit)
    return Verdict("warn", join_messages((paced, above), " "))


def _advice(calls: JobCalls) -> Iterator[Message]:
    if calls.merged_to is not None and calls.merged_to < calls.files_most:
        yield message(
            "Set {option:name}: true. A checkpoint then writes at most {merged:count} files "
            "instead of {files:count}.",
            option=MERGING,
            merged=calls.merged_to,
            files=calls.files_most,
        )
    now, best = calls.at_now, calls.knee
    if best and best.threshold_bytes > now.threshold_bytes:
        yield message(
            "Set {option:name}: {threshold:number}b, the knee, instead of {now:bytes}: "
            "{less:count} files less a checkpoint for {heap:bytes} more on the heap of the "
            "JobManager ({retained:count} retained) and {metadata:bytes} more in each _metadata.",
            option=calls.threshold_key,
            threshold=best.threshold_bytes,
            now=now.threshold_bytes,
            less=now.files - best.files,
            heap=best.heap_bytes - now.heap_bytes,
            retained=calls.retained,
            metadata=best.metadata_bytes - now.metadata_bytes,
        )


def _above_knee(calls: JobCalls) -> Note:
    return Note(
        message(
            "The threshold of {threshold:bytes} is at the knee or above: a higher one costs heap "
            "and saves few files.",
            threshold=calls.at_now.threshold_bytes,
        )
    )


def _facts(calls: JobCalls, replicated: ReplicationFactor) -> Facts:
    xray = f"{reverse('storage-xray')}?{urlencode({'path': calls.metadata_path})}"
    number = "–" if calls.checkpoint_id is None else str(calls.checkpoint_id)
    median = message("median of the newest completed checkpoints")
    facts = [
        Fact("checkpoint", message("Checkpoint"), Link(number, xray), "checkpoint"),
        Fact("modified", message("Written"), calls.modified, "instant"),
        Fact("files", message("Files that it wrote"), calls.files_most, "count", _least(calls)),
        Fact(
            "calls",
            message("Calls"),
            calls.most.total,
            "count",
            message("those that delete it later, too"),
        ),
        Fact("per_s", message("Calls a second over time"), calls.per_s, "per_s"),
        Fact("burst_per_s", message("While it is written"), calls.burst_per_s, "per_s"),
        Fact("every_ms", message("From one to the next"), calls.pace.every_ms, "ms", median),
        Fact("duration_ms", message("Its duration"), calls.pace.duration_ms, "ms", median),
        Fact("file_bytes", message("Written into files, at most"), calls.file_bytes, "bytes"),
        Fact("metadata_bytes", message("Size of its _metadata"), calls.metadata_bytes, "bytes"),
    ]
    if replicated.why:
        raw = replicated.raw(calls.file_bytes + calls.metadata_bytes)
        times = message(
            "stored {factor:number} times, {why:name}",
            factor=replicated.factor or 0,
            why=str(replicated.why),
        )
        why = str(replicated.why) if raw is None else times
        facts.append(Fact("raw_bytes", message("Raw bytes of both"), raw, "bytes", why))
    states = message("{states:count} states that are in no file", states=calls.inline)
    facts += [
        Fact("inline_bytes", message("Inline state"), calls.inline_bytes, "bytes", states),
        Fact(
            "files_taken_over",
            message("Taken over from earlier checkpoints"),
            calls.files_taken_over,
            "count",
            message("shared files, which cost no call now"),
        ),
    ]
    if calls.merged_files:
        facts.append(
            Fact("merged_files", message("Files with merged state"), calls.merged_files, "count")
        )
    return Facts(tuple(facts))


def _least(calls: JobCalls) -> str:
    if calls.files_least == calls.files_most:
        return ""
    return message("at least {files:count}", files=calls.files_least)


def _kinds(calls: JobCalls) -> Table:
    rows = [
        (label, expected, MEANINGS[kind])
        for kind, label in LABELS.items()
        if (expected := getattr(calls.most, kind))
    ]
    return Table(
        "kinds",
        message("Calls of one checkpoint"),
        (
            Column("kind", message("Call"), "mono"),
            Column("expected", message("Expected"), "count"),
            Column("meaning", message("What for")),
        ),
        tuple(rows),
        note=message(
            "A file that Flink writes for high availability on the same storage comes on top: one "
            "a checkpoint."
        ),
    )


def _range(least: int, most: int) -> str:
    """``12``, or ``12–40`` where it is not known better."""
    return f"{most:,}" if least == most else f"{least:,}–{most:,}"
