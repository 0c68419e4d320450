"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(heads), _line(["---"] * len(heads)), *map(_line, rows)]
    return "\n".join(lines)


def plain(text: str) -> str:
    """A plain text as one line, escaped for Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
