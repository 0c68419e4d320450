"""The fields of lists, exports and commands, from the serving tables."""

from collections.abc import Iterator

from spark_jobs.serving import SERVING_TABLES, ServingTable
from webapp.site.documentation.markdown import plain, table

INTRODUCTION = """# Fields

What Weir derives about jobs and checkpoints. The [API](api.md), exports and `--json` of
[commands](commands.md) use the same names. Instants are UTC, and unknown is null. The name of a field
without a description explains the field.
"""
INTERNAL = ("finding_occurrence", "job_judgement")
HEADS = ("field", "type", "unit", "meaning")


def pages() -> dict[str, str]:
    tables = (
        serving_table for name, serving_table in SERVING_TABLES.items() if name not in INTERNAL
    )
    parts = [
        f"## {serving_table.name}\n\n{_capital(serving_table.row)}.\n\n{table(HEADS, _rows(serving_table))}"
        for serving_table in tables
    ]
    return {"reference/fields.md": "\n\n".join((INTRODUCTION.strip(), *parts)) + "\n"}


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _rows(serving_table: ServingTable) -> Iterator[tuple[str, ...]]:
    for column in serving_table.columns:
        yield f"`{column.name}`", column.kind, column.unit or "–", plain(column.meaning) or "–"
