"""The records that parsers make of one reading; a part that cannot be parsed becomes a Skip."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer
from ingest.messages import message
from ingest.records import Observed, Record, Skip

_Parsed = TypeVar("_Parsed")
_WHOLE = object()

MAX_BAD_ENTRIES = 100


class ParseResults:
    def __init__(self) -> None:
        self._records: list[tuple[datetime, Record]] = []
        self._bad = 0

    def add(self, answer: Answer, *records: Record | None) -> None:
        self._records.extend((answer.at, record) for record in records if record is not None)

    def parse(
        self,
        parser: Callable[..., _Parsed],
        answer: Answer | None,
        *args: Any,
        body: Any = _WHOLE,
        place: str = "",
    ) -> _Parsed | None:
        """By default of the whole answer; ``None`` without one, or after noting a skip where it
        cannot be read.
        """
        if answer is None:
            return None
        try:
            return parser(answer.body if body is _WHOLE else body, *args)
        except Skipped as error:
            self.skip(answer, place, str(error))
            return None

    def each(
        self, entries: Iterable[tuple[str, Any]] | None, answer: Answer
    ) -> Iterator[tuple[str, Any]]:
        bad_before = self._bad
        for place, entry in entries or ():
            if self._bad - bad_before >= MAX_BAD_ENTRIES:
                self.skip(
                    answer,
                    "",
                    message(
                        "{max_bad_entries:number} of its entries could not be read; the others, "
                        "from {place:name} on, are not tried.",
                        max_bad_entries=MAX_BAD_ENTRIES,
                        place=place,
                    ),
                )
                return
            yield place, entry

    def skip(self, answer: Answer, place: str, detail: str) -> None:
        self._bad += 1
        subject = f"{answer.endpoint}#{place}" if place else answer.endpoint
        self._records.append(
            (answer.at, Skip(subject=subject, reason="bad_payload", detail=detail))
        )

    def records(self) -> tuple[Record, ...]:
        return tuple(record for _, record in self._records)

    def skips(self) -> tuple[Skip, ...]:
        return tuple(record for record in self.records() if isinstance(record, Skip))

    def observed(self, cluster: str, source: str) -> tuple[Observed, ...]:
        by_time: dict[datetime, list[Record]] = {}
        for at, record in self._records:
            by_time.setdefault(at, []).append(record)
        return tuple(Observed(cluster, at, source, tuple(by_time[at])) for at in sorted(by_time))
