"""A summary as text for people."""

from collections.abc import Iterator

from ingest.figures import count_text
from ingest.metadata.summary import Directory, OperatorTotals, Summary

_HEADINGS = (
    "OPERATOR",
    "SUBTASKS",
    "STATE",
    "UPLOADED",
    "FILES",
    "IN FILES",
    "INLINE",
    "IN _METADATA",
)
MOST_DIRECTORIES_SHOWN = 12


def summary_line(summary: Summary, path: str) -> str:
    header, properties = summary.header, summary.properties
    kind = properties.name if properties else "checkpoint or savepoint"
    if properties and properties.savepoint_format:
        kind += f" ({properties.savepoint_format.lower()})"
    others = sum(directory.references for directory in summary.directories if not directory.own)
    return (
        f"{path}: {kind} {header.checkpoint_id}, format {header.dialect.version} (Flink "
        f"{header.dialect.name}), "
        f"{count_text(len(summary.operators), 'operator')}, "
        f"{count_text(summary.handles, 'handle')}, "
        f"{size(summary.state_bytes)} of state, {count_text(others, 'reference')} into other "
        "directories"
    )


def table_lines(summary: Summary, path: str) -> Iterator[str]:
    yield summary_line(summary, path)
    rows = [_HEADINGS, *(_row(totals) for totals in summary.operators)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  " + "  ".join(cells).rstrip()
    if summary.directories:
        yield "  files lie in"
    for directory in summary.directories[:MOST_DIRECTORIES_SHOWN]:
        yield _directory(directory)
    hidden = len(summary.directories) - MOST_DIRECTORIES_SHOWN
    if hidden > 0:
        yield f"    and {hidden:,} more directories (--json lists them)"
    yield ""


def size(count: int) -> str:
    """``1.5 MB``: decimal units, as storage is billed."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} PB"


def _shown(text: str) -> str:
    """Text out of a file, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _row(totals: OperatorTotals) -> tuple[str, ...]:
    operator = totals.operator
    finished = (
        "finished" if operator.fully_finished else f"{totals.subtasks} of {operator.parallelism}"
    )
    if totals.finished:
        finished += f", {len(totals.finished)} finished"
    return (
        f"{operator.operator_id}{' ' + _shown(operator.name[:60]) if operator.name else ''}",
        finished,
        size(totals.state_bytes),
        size(totals.checkpointed_bytes),
        f"{totals.files:,}",
        size(totals.file_bytes),
        f"{totals.inline:,}",
        size(totals.inline_bytes),
    )


def _directory(directory: Directory) -> str:
    note = "" if directory.own else "  (not of this job)"
    return (
        f"    {directory.references:>9,}  {size(directory.bytes):>9}  "
        f"{_shown(directory.path)}{note}"
    )
