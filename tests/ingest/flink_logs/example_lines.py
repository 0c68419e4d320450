"""An example line of each entry of the pattern table: those of a kind in the order of the table."""

import json
from pathlib import Path

from ingest.flink_logs.patterns import PATTERNS, TRACE_PATTERNS, Pattern, TracePattern

_LINES: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "flink_log_lines.json").read_text("utf-8")
)
_left = {kind: iter(lines) for kind, lines in _LINES.items()}
LINE_OF: dict[Pattern | TracePattern, str] = {
    entry: next(_left[entry.kind]) for entry in (*PATTERNS, *TRACE_PATTERNS)
}
assert sum(map(len, _LINES.values())) == len(LINE_OF)
SAMPLE_EXECUTION = "a932b3badd0047fc56bb20dcdd6164f3_9c32e3838cee893dbb2fc90ccad79598_1_0"
