"""Answers as the published references of Loki, Elasticsearch and OpenSearch describe them, over
lines of recorded logs.

None of the three can run where these tests run, so this is what stands for them; nothing of it
shares code with what reads the answers.
"""

import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.ingest.flink_rest.serving import Reply, told

LOGS = Path(__file__).parents[2] / "fixtures" / "recordings" / "1.20.5" / "C2" / "logs"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})")


def recorded_lines():
    """(process, instant ns, text) of every line of the recorded logs, with the time that it has or
    the one before it has.
    """
    for path in sorted(LOGS.iterdir()):
        at_ms = 0
        for text in path.read_text().splitlines():
            if found := _STAMP.match(text):
                at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                at_ms = round(at.timestamp() * 1000)
            yield path.stem, at_ms * 1_000_000, text


class LokiAnswers:
    """``lines``: (labels, instant ns, text).

    From ``start`` on, before ``end``, the oldest ``limit``; streams by their labels.
    """

    def __init__(self, lines, most=5_000):
        self.lines, self.most = list(lines), most
        self.asked, self.tenants, self.signed = [], [], []

    def __call__(self, path, headers):
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append(asked)
        self.tenants.append(headers.get("X-Scope-OrgID"))
        self.signed.append(headers.get("Authorization"))
        if parts.path != "/loki/api/v1/query_range":
            return Reply(b"404 page not found\n", 404)
        if int(asked["limit"]) > self.most:
            return Reply(b"max entries limit per query exceeded\n", 400)
        assert asked["direction"] == "forward"
        inside = [line for line in self.lines if int(asked["start"]) <= line[1] < int(asked["end"])]
        inside.sort(key=lambda line: line[1])
        streams = {}
        for labels, at, text in inside[: int(asked["limit"])]:
            streams.setdefault(json.dumps(labels), []).append([str(at), text])
        result = [
            {"stream": json.loads(labels), "values": values} for labels, values in streams.items()
        ]
        return told(
            {"status": "success", "data": {"resultType": "streams", "result": result, "stats": {}}}
        )


class SearchAnswers:
    """``documents``: (instant ms, ``_source``).

    Among documents of one millisecond the order changes with every request.
    """

    def __init__(self, documents, index="logs-flink", **about):
        self.documents = [
            (at, f"id-{number}", source) for number, (at, source) in enumerate(documents)
        ]
        self.index, self.about = index, about
        self.asked, self.signed, self.paths = [], [], []
        self._chance = random.Random(14)

    def __call__(self, path, headers):
        parts = urlsplit(path)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.paths.append(parts.path)
        self.signed.append(headers.get("Authorization"))
        if parts.path != f"/{self.index}/_search":
            return told({"error": {"type": "index_not_found_exception"}, "status": 404}, 404)
        assert parameters["source_content_type"] == "application/json"
        assert parameters["allow_partial_search_results"] == "false"
        source = json.loads(parameters["source"])
        self.asked.append(source)
        assert source["size"] <= 10_000
        span = source["query"]["bool"]["filter"][0]["range"]["@timestamp"]
        assert span["format"] == "epoch_millis"
        inside = [one for one in self.documents if span["gte"] <= one[0] < span["lt"]]
        self._chance.shuffle(inside)
        inside.sort(key=lambda one: one[0])
        hits = [
            {"_index": self.index, "_id": name, "_score": None, "_source": document, "sort": [at]}
            for at, name, document in inside[: source["size"]]
        ]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return told(
            {
                "took": 1,
                "timed_out": False,
                "_shards": shards,
                "hits": {"max_score": None, "hits": hits},
            }
            | self.about
        )
