"""A JSON body of the API costs less than a second of CPU, whatever it holds."""

import io
import time
from contextlib import suppress

import pytest
from rest_framework.exceptions import APIException

from webapp.lib.api.parsing import LARGEST_BODY_BYTES, BoundedJson

ROOM = LARGEST_BODY_BYTES - 100


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * (ROOM // 3) + b"[]]",
        b"[" + b"{}," * (ROOM // 3) + b"{}]",
        b"[" + b"1," * (ROOM // 2) + b"1]",
        b"[" * ROOM,
        b'{"a":' * (ROOM // 5),
        b'["' + b"\\n" * (ROOM // 2) + b'"]',
        b'["' + b"\\ud800" * (ROOM // 6) + b'"]',
        b"[" + (b"1" * 4300 + b",") * (ROOM // 4301) + b"1]",
        b"[0." + b"1" * ROOM + b"]",
        b"[1e" + b"9" * ROOM + b"]",
        b"[" + b'{"a":"b"},' * 16_000 + b"1]",
    ],
    ids=[
        "lists",
        "objects",
        "numbers",
        "brackets",
        "braces",
        "escapes",
        "halves",
        "integers",
        "a fraction",
        "an exponent",
        "small objects",
    ],
)
def test_a_body_of_the_api_costs_less_than_a_second_of_cpu(body: bytes) -> None:
    began_s = time.process_time()
    with suppress(APIException):
        BoundedJson().parse(io.BytesIO(body))
    assert time.process_time() - began_s < 1.0
