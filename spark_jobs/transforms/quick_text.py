"""Column expressions over long texts, in the forms that Spark works out fastest.

Spark's ``replace``, ``substring_index``, ``locate`` and ``rtrim`` compare at every byte, ``substring`` walks through every
character before its start; ``contains`` only looks for a first byte, and ``octet_length`` does not look at all.
Measured with a profile over raw logs: a quarter of all time went into those.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.transforms.binding import let

SELDOM_FIRST = "zqxjZQXJYKVkU:vHGWwBDybfNOLP#FRICMAgpESTuhmdlcsrnaotie "
"""Characters of log lines, rare ones first."""
SURE_BYTES = 8


def first_line(text: Column) -> Column:
    """Up to the first line end; the whole text where there is none."""
    return F.when(text.contains("\n"), F.substring_index(text, "\n", 1)).otherwise(text)


def replaced(text: Column, piece: str, by: str) -> Column:
    return F.when(text.contains(piece), F.replace(text, F.lit(piece), F.lit(by))).otherwise(text)


def trimmed_end(text: Column, characters: str) -> Column:
    def trimmed(whole: Column) -> Column:
        ends = whole.endswith(characters[0])
        for character in characters[1:]:
            ends |= whole.endswith(character)
        return F.when(ends, F.rtrim(whole, F.lit(characters))).otherwise(whole)

    return let(text, trimmed)


def first_chars(text: Column, chars: int) -> Column:
    """At most so many characters; no text has more characters than bytes."""
    return let(text, lambda whole: F.when(F.octet_length(whole) > chars, F.substring(whole, 1, chars)).otherwise(whole))


def from_byte(text: Column, start: Column | int, length: Column | int | None = None) -> Column:
    """``length`` bytes (all there are) from the ``start``-th on, counted from 1."""
    return F.substring(text.cast("binary"), start, F.octet_length(text) if length is None else length).cast("string")


def holds(text: Column, piece: str) -> Column:
    """Whether the text contains a piece, known from the first rare character on."""
    return text.contains(_rare_part(piece)) & text.contains(piece)


def _rare_part(piece: str) -> str:
    starts = range(max(1, len(piece) - SURE_BYTES + 1))
    rank = {character: number for number, character in enumerate(SELDOM_FIRST)}
    return piece[min(starts, key=lambda start: (rank.get(piece[start], -1), start)) :]
