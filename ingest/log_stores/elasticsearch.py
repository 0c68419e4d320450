"""``_search`` of Elasticsearch and OpenSearch: documents of an index pattern by ``@timestamp``. The
request's body is the parameter ``source``: only GET is sent. A page begins with the last instant of
the previous page, since both stores have different sort keys for a finer position (``_shard_doc``,
``_id``). Source: the search APIs of Elasticsearch 7.10 to 9 and of OpenSearch 1 to 3.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, urlencode

from ingest.errors import Retryable, Skipped
from ingest.json_members import as_object, member
from ingest.log_stores.pages import LAST_NS, NO_INSTANT, NS_PER_MS, Page
from ingest.messages import message
from ingest.pushed.entries import Entry, entry_of, excerpt
from ingest.records import Skip

TIME = "@timestamp"
_NANOSECONDS_FROM = 10**15
"""Sort values from here on are of a field ``date_nanos``, smaller ones of a ``date``."""
_POSITION = ("log.offset", "offset", "log_offset")


class Elasticsearch:
    resolution_ns = NS_PER_MS
    usual_lines = 2_000
    most_lines = 10_000

    def __init__(
        self, index: str, query: str, name: Literal["Elasticsearch", "OpenSearch"] = "Elasticsearch"
    ) -> None:
        self._index, self._query = index, query
        self.name: str = name

    def path(self, start_ns: int, end_ns: int, limit: int) -> str:
        time_range = {
            "gte": start_ns // NS_PER_MS,
            "lt": -(-end_ns // NS_PER_MS),
            "format": "epoch_millis",
        }
        filters: list[dict[str, Any]] = [{"range": {TIME: time_range}}]
        if self._query:
            filters.append({"query_string": {"query": self._query}})
        source = {
            "size": limit,
            "query": {"bool": {"filter": filters}},
            "sort": [{TIME: {"order": "asc", "unmapped_type": "date"}}],
            "track_total_hits": False,
        }
        parameters = {
            "source": json.dumps(source, separators=(",", ":")),
            "source_content_type": "application/json",
            "allow_partial_search_results": "false",
        }
        return f"/{quote(self._index, safe=',*:')}/_search?{urlencode(parameters, quote_via=quote)}"

    def page(self, body: object) -> Page:
        match body:
            case {"hits": {"hits": list(hits)}}:
                self._require_all_shards(body)
            case _:
                raise Skipped(
                    message(
                        "The answer is not from {name:name}'s _search API; check the address.",
                        name=self.name,
                    )
                )
        hits_read = [self._line(hit) for hit in hits]
        hits_read.sort(key=lambda pair: pair[:2])
        return Page(tuple((at, line) for at, _, line in hits_read))

    def advice(self, status: int) -> str:
        match status:
            case 400:
                return message("Check its query and index.")
            case 401 | 403:
                return message("Check sign-in, and that it may read the index.")
            case 404:
                return message("Check the index.")
        return ""

    def _require_all_shards(self, body: object) -> None:
        match body:
            case {"timed_out": False, "_shards": {"failed": 0}}:
                return
        raise Retryable(
            message(
                "{name:name} did not answer for all shards in time; lines of the others would be "
                "missing, so it is asked again.",
                name=self.name,
            )
        )

    def _line(self, hit: Any) -> tuple[int, int, Entry | Skip]:
        at = _instant(hit)
        if at is None:
            return (
                NO_INSTANT,
                0,
                Skip(
                    excerpt(hit),
                    "bad_payload",
                    f"It is not a hit with an id that is sorted by {TIME}.",
                ),
            )
        document = as_object(hit.get("_source"))
        entry = entry_of({**document, "stamp": f"{at} {hit['_id']}"})
        no_text = Skip(
            f"document {hit['_id'][:80]!a}",
            "no_text",
            "It has no field with the text of a log line.",
        )
        return at, _position(document), entry or no_text


def _instant(hit: Any) -> int | None:
    match hit:
        case {"_id": str(), "sort": [int(sort_value), *_]} if not isinstance(sort_value, bool):
            at = sort_value if sort_value >= _NANOSECONDS_FROM else sort_value * NS_PER_MS
            return at if 0 <= at <= LAST_NS else None
    return None


def _position(document: Mapping[str, Any]) -> int:
    nested = member(document.get("log"), "offset")
    position = next((document[name] for name in _POSITION if name in document), nested)
    return position if isinstance(position, int) else 0
