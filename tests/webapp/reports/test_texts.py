"""Texts that leave the house carry no secret, no trick and no end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.reports import texts

CANARY = "c4n4ry-SeCr3t-0123456789"


@pytest.mark.parametrize(
    "line",
    [
        f"password={CANARY}",
        f'{{"password": "{CANARY}"}}',
        f"'api-key': '{CANARY}'",
        f"fs.s3a.secret.key: {CANARY}",
        f"s3.access-key={CANARY};region=eu",
        f"Authorization: Bearer {CANARY}",
        f"using bearer {CANARY} now",
        f"https://user:{CANARY}@host/path",
        f"sasl.jaas.config=... required username=\"u\" password=\"{CANARY}\";",
        f"https://host/x?X-Amz-Signature={CANARY}&a=b",
        f"https://host/x?sv=1&sig={CANARY}",
        f"db.my_passwd = {CANARY}",
        f"client_secret:{CANARY}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY} cut",
        f"whsec_{CANARY.replace('-', '')}",
    ],
)  # fmt: skip
def test_a_credential_is_masked_however_it_is_written(line):
    assert CANARY not in texts.bounded(f"before {line} after", texts.TRACE)
    assert CANARY.replace("-", "") not in texts.bounded(line)


@pytest.mark.parametrize(
    "line",
    [
        "Decline checkpoint 3 by task a1_b2_0",
        "taskmanager.memory.process.size: 1024m",
        "at org.example.A.b(A.java:1)",
    ],
)
def test_what_is_no_credential_stays(line):
    assert texts.bounded(line) == line


@given(st.text(max_size=3_000), st.integers(10, 500))
def test_no_text_is_longer_than_allowed_or_turns_the_line_around(text, longest):
    told = texts.bounded(text, longest)
    assert len(told) <= longest
    assert not set(told) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\x00\x1b\x7f\u2028"
    )


def test_a_long_hostile_text_costs_little():
    for piece in ("password", "a" * 9_000, "token" * 3_000, "-" * 20_000, "password=" * 2_000):
        assert len(texts.bounded(piece * 3, texts.TRACE)) <= texts.TRACE


def test_a_name_is_one_line():
    assert texts.name("a\n\tb \u202ec") == "a b \ufffdc"
    assert texts.name(None, "otherwise") == "otherwise"
