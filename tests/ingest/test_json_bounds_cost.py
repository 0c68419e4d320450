"""JSON from elsewhere that is too deep to be decoded is cut or refused in a time that grows with
its length.
"""

import json
import time
from contextlib import suppress

import pytest

from ingest.json_bounds import KEPT_DEPTH, decoded

DEEP = b"[" * 5_000


@pytest.mark.parametrize(
    "content",
    [
        DEEP + b'"' + b'\\"' * 2_000_000 + b"\\",
        DEEP + b'"' + b"\\" * 4_000_001,
        DEEP + b"]" * 5_000 + b"[]" * 1_000_000,
        b"[" * 1_000_000 + b"]" * 1_000_000,
        DEEP + b'""' * 2_000_000,
    ],
    ids=["quotation marks", "backslashes", "pairs", "brackets", "texts"],
)
def test_what_is_too_deep_is_cut_in_linear_time(content: bytes) -> None:
    began_s = time.process_time()
    with suppress(ValueError, RecursionError):
        decoded(content, lenient=True, cut_deep=True)
    assert time.process_time() - began_s < 2.0


@pytest.mark.parametrize("depth", [1_000, 5_000])
def test_what_lies_beside_a_value_that_is_too_deep_is_kept(depth: int) -> None:
    inner = b'{"a":[' * depth + b'"]}"' + b"]}" * depth
    document, _ = decoded(b'[{"before":1},' + inner + b',{"after":[{}]}]', cut_deep=True)
    assert (document[0], document[2]) == ({"before": 1}, {"after": [{}]})
    assert b"null" in json.dumps(document[1]).encode()
    assert json.dumps(document[1]).count("[") + json.dumps(document[1]).count("{") == KEPT_DEPTH - 1
