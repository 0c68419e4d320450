from ingest.source_declaration import Source, Turn

SOURCES = (
    Source(
        "operator",
        Turn.LOGS,
        "ingest.operator_log:read_events",
        applies=lambda run: run.cluster.operator_events,
        files=True,
    ),
    Source(
        "pods",
        Turn.LOGS,
        "ingest.pod_log:read_pods",
        applies=lambda run: run.cluster.pods,
        files=True,
    ),
)
