"""Words of codes on pages: kinds of subjects, levels of confidence, states of a vertex."""

from webapp.lib.translations import marked

CODE_WORDS = marked(
    "job",
    "vertex",
    "subtask",
    "taskmanager",
    "checkpoint",
    "cluster",
    "root",
    "host",
    "low",
    "medium",
    "high",
    "start delay",
    "alignment",
    "sync",
    "async",
    "flows",
    "waits",
    "held",
    "ok",
    "name",
    "ratio",
    "waits for work",
    "waits for room in its output",
    "is in RocksDB",
    "runs",
)
