from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "namenode_jmx",
        Turn.ADDITIONAL,
        "ingest.namenode_jmx.collector:read_namenode",
        applies=lambda run: run.cluster.settings.get("namenode_jmx_url"),
        settings=(Setting("namenode_jmx_url", "address", "--namenode-jmx"),),
    ),
)
