from ingest.flink_rest.versions import has_applications
from ingest.messages import message
from ingest.source_declaration import Setting, Source, Turn

_READING = "ingest.flink_rest.reading"

SOURCES = (
    Source(
        "rest",
        Turn.JOBMANAGER,
        f"{_READING}:read_jobmanager",
        applies=lambda run: run.cluster.url,
        settings=(Setting("url", "address"),),
        suffices=True,
        subject=message("The JobManager"),
        probe="ingest.flink_rest.probe:probe_jobmanager",
    ),
    Source(
        "history",
        Turn.JOBS,
        f"{_READING}:read_history_server",
        applies=lambda run: run.cluster.history_url,
        settings=(Setting("history_url", "address", "--history"),),
        suffices=True,
        subject=message("The History Server"),
        probe="ingest.flink_rest.probe:probe_history_server",
    ),
    Source(
        "applications",
        Turn.ADDITIONAL,
        "ingest.flink_rest.applications:read_applications",
        applies=lambda run: run.answers and run.rest and has_applications(run.rest.flink_version),
    ),
    Source(
        "thread_dumps",
        Turn.ON_REQUEST,
        f"{_READING}:request_thread_dumps",
        applies=lambda run: run.answers and run.cluster.thread_dumps,
    ),
)
