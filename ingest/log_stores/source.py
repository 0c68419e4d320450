from ingest.messages import message
from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "log_store",
        Turn.LOGS,
        "ingest.log_stores.collector:read_store",
        applies=lambda run: run.cluster.log_store,
        settings=(
            Setting("log_store_kind", "choice"),
            Setting("log_store_url", "address", "--log-store"),
        ),
        suffices=True,
        subject=message("The store of logs"),
        probe="ingest.log_stores.probe:probe",
    ),
)
