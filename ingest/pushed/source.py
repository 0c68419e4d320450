from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "pushed_metrics",
        Turn.METRICS,
        "ingest.pushed.metrics:read_new",
        applies=lambda run: run.cluster.pushed_metrics,
        settings=(Setting("logs_are_pushed", "choice", "--pushed-logs"),),
        suffices=True,
        files=True,
    ),
)
