from ingest.messages import message
from ingest.records import Checkpoint, Job, JobException, VertexCheckpoint, VertexStart
from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "archive",
        Turn.JOBS,
        "ingest.history.archives:read_new",
        wanted=lambda run: run.cluster.archive_dir,
        settings=(Setting("archive_dir", "place", "--archive"),),
        suffices=True,
        subject=message("The archive directory"),
        probe="ingest.history.archives:probe",
        tables=(Job, Checkpoint, VertexCheckpoint, VertexStart, JobException),
        files=True,
    ),
)
