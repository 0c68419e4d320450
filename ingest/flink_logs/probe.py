from datetime import datetime, timedelta

from ingest.cluster_run import ClusterRun
from ingest.errors import IngestError
from ingest.flink_logs.documents import READ_BYTES
from ingest.flink_logs.files import UNREADABLE, LogFile, find
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import is_packed
from ingest.messages import message, plural
from ingest.source_read import ProbeNotes
from ingest.sources import LogSource

MAX_FILES_PROBED = 20
ZONE_TOLERANCE = timedelta(minutes=20)
"""Difference of clocks, and age of a busy log's last line."""


def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    logs = run.cluster.logs
    if not run.cluster.log_store or len(logs.globs) > 1:  # one glob is for the lines of the store
        probe_logs(logs, run.shard.at(), notes)


def probe_logs(logs: LogSource, now: datetime, notes: ProbeNotes) -> None:
    try:
        layout = layout_of(logs.layout)
        zone = zone_of(logs.time_zone, layout)
    except IngestError as error:
        notes.misses.append(message("logs: {error:text}", error=str(error)))
        return
    files, skips = find(logs.globs, logs.own_globs)
    notes.misses += [
        message("logs: {subject:name}: {detail:name}", subject=skip.subject, detail=skip.detail)
        for skip in skips
    ]
    if not files:
        notes.misses.append(
            message("logs: nothing matches {join:name}", join=", ".join(logs.globs))
        )
        return
    notes.sees.append(
        message(
            "log files: {files:number}, {sum:decimal1} MB",
            files=len(files),
            sum=sum(file.size for file in files) / 1000000.0,
        )
    )
    newest = None
    unread_paths: list[str] = []
    for file in files[-MAX_FILES_PROBED:]:
        last, headers = _last_record(file, LogReader(layout, zone, file=file.path, keep="all"))
        if not headers and file.size:
            unread_paths.append(file.path)
        newest = max(filter(None, (newest, last)), default=None)
    if unread_paths:
        notes.misses.append(
            message(
                "logs: {unknown:message} without the declared layout, as {unknown2:name}; declare "
                "their log4j pattern",
                unknown=plural(len(unread_paths), "{count:count} file", "{count:count} files"),
                unknown2=unread_paths[0],
            )
        )
    if newest:
        notes.sees.append(
            message("newest log record: {newest:name} UTC", newest=f"{newest:%Y-%m-%d %H:%M:%S}")
        )
        if zone_is_doubtful(newest, now):
            notes.misses.append(
                message(
                    "logs: the newest record would be {hours:decimal1} h from now; is "
                    "{time_zone:name} the time zone of these logs?",
                    hours=(newest - now) / timedelta(hours=1),
                    time_zone=logs.time_zone,
                )
            )


def zone_is_doubtful(newest: datetime, now: datetime) -> bool:
    """Whether ``newest`` is in the future or, to a minute, whole half hours ago, up to a day:
    probably the zone is wrong, not the clock.
    """
    difference = newest - now
    if difference > ZONE_TOLERANCE:
        return True
    half_hours = round(difference / timedelta(minutes=30))
    return -48 <= half_hours < 0 and abs(
        difference - half_hours * timedelta(minutes=30)
    ) < timedelta(minutes=1)


def _last_record(file: LogFile, reader: LogReader) -> tuple[datetime | None, int]:
    try:
        with file.open() as stream:
            if not is_packed(file.path):
                stream.seek(max(0, file.size - READ_BYTES))
            data = stream.read(READ_BYTES)
    except UNREADABLE:
        return None, 0
    records = [*reader.feed(data), *reader.close()]
    return max((record.ts for record in records), default=None), reader.headers
