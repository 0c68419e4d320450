import ingest.network.schemes  # noqa: F401 - for whoever opens a file of a tree
