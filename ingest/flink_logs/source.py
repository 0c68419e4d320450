from ingest.messages import message
from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "logs",
        Turn.LOGS,
        "ingest.flink_logs.reading:read_files",
        applies=lambda run: run.cluster.logs.globs,
        settings=(Setting("log_globs", "places", "--logs"),),
        suffices=True,
        subject=message("The log storage"),
        probe="ingest.flink_logs.probe:probe",
        files=True,
    ),
    Source(
        "log_endpoint",
        Turn.LAST,
        "ingest.flink_logs.reading:read_endpoint",
        applies=lambda run: run.answers and not run.cluster.logs.globs,
    ),
)
