from ingest.source_declaration import Source, Turn

SOURCES = (
    Source(
        "metadata",
        Turn.LAST,
        "ingest.metadata.evidence:read_snapshots",
        applies=lambda run: run.cluster.metadata.enabled,
        files=True,
    ),
)
