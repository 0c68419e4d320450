"""Limits of a body in any format: parts are counted before they are decoded."""

from typing import Any

from ingest.errors import Refused
from ingest.json_bounds import TooManyValues, decoded, pushed_hooks

MAX_RECORDS = 30_000
MAX_OTLP_RECORDS = 20_000
MAX_PARTS = 200_000
"""8,192 OTLP records of 20 attributes have 180,000 parts."""
MAX_VALUES = 1_000_000
MAX_PROCESSES = 500
MAX_ORIGINS = 2_000


class TooLarge(Refused):
    pass


class Count:
    def __init__(self, most: int, what: str) -> None:
        self._most, self._what, self._number = most, what, 0

    def add(self, number: int = 1) -> None:
        """Raises ``TooLarge``."""
        self._number += number
        if self._number > self._most:
            raise TooLarge(
                f"The body holds at least {self._number:,} {self._what}, and at most {self._most:,} "
                "are read; send smaller batches."
            )


def records(most: int = MAX_RECORDS) -> Count:
    return Count(most, "records")


def parts() -> Count:
    return Count(MAX_PARTS, "parts (messages, attributes, values)")


def json_document(body: bytes, expected: str = "JSON") -> Any:
    """Raises ``TooLarge`` and ``Refused``."""
    try:
        return decoded(body, MAX_VALUES, lenient=True, cut_deep=True, hooks=pushed_hooks)[0]
    except TooManyValues as error:
        raise TooLarge(f"The body is too large: {error}; send smaller batches.") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"The body is no {expected}.") from error
