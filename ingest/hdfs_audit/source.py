from ingest.records import NameNodeCalls
from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "hdfs_audit",
        Turn.BESIDE,
        "ingest.hdfs_audit.tail:read_declared",
        wanted=lambda run: run.cluster.settings.get("hdfs_audit_globs"),
        settings=(Setting("hdfs_audit_globs", "places", "--hdfs-audit"),),
        tables=(NameNodeCalls,),
        files=True,
    ),
)
