"""Codes of ``ingest`` for why an input was skipped, which the pipeline page translates."""

from webapp.lib.translations import marked

WORDS = marked(
    "bad json",
    "bad line",
    "bad metadata",
    "bad name",
    "bad path",
    "bad payload",
    "bad row",
    "error",
    "http error",
    "no date",
    "no header",
    "no metadata",
    "no text",
    "not found",
    "not json",
    "over budget",
    "redirected",
    "refused",
    "timeout",
    "too large",
    "unauthorized",
    "unknown version",
    "unreachable",
    "unreadable file",
    "unreadable metadata",
)
