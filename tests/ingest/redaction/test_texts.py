"""No spelling of a secret gets through, no honest text is touched, and no hostile one holds the
house up.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.redaction import names, suspicion
from ingest.redaction import texts as shapes
from ingest.redaction.documents import redact_document
from ingest.redaction.marks import MASK
from ingest.redaction.names import FLINK_SENSITIVE_KEYS, holds_secret
from ingest.redaction.texts import LONG, redact
from tests.redaction import HONEST, SPELLINGS, Spelling
from tests.selections import for_each

LOG_LINE = (
    "2026-03-01 04:10:00,000 INFO  "
    "org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - Triggering checkpoint 41\n"
)

FRAMES = {
    "alone": "{}",
    "on lines of its own": LOG_LINE + "{}\n" + LOG_LINE,
    "in a long log": LOG_LINE * (2 * LONG // len(LOG_LINE)) + "{}\n" + LOG_LINE * 50,
}


def test_there_are_enough_of_them() -> None:
    assert len(SPELLINGS) >= 100
    assert len({spelling.name for spelling in SPELLINGS}) == len(SPELLINGS)
    assert len(HONEST) >= 60


@for_each(spelling=SPELLINGS, frame=FRAMES.values())
def test_the_secret_goes_and_the_rest_stays(spelling: Spelling, frame: str) -> None:
    told = redact(frame.replace("{}", spelling.text))
    assert not spelling.leaks_in(told)
    assert MASK in told
    assert all(kept in told for kept in spelling.keeps), told
    assert told.count(LOG_LINE) == frame.count(LOG_LINE)


@for_each(text=HONEST, frame=FRAMES.values())
def test_an_honest_text_stays_to_the_letter(text: str, frame: str) -> None:
    framed = frame.replace("{}", text)
    assert redact(framed) == framed


def test_a_passphrase_and_a_block_go_to_their_end_where_they_have_lines_of_their_own() -> None:
    text = (
        "user: flink\npassword: correct horse battery staple\nprivate_key: |\n  c4n4ry1\n  "
        "c4n4ry2\nport: 5432\n"
    )
    assert redact(text) == f"user: flink\npassword: {MASK}\nprivate_key: |\n  {MASK}\nport: 5432\n"
    assert redact(redact(text)) == redact(text)


@for_each(spelling=SPELLINGS)
def test_twice_is_the_same_as_once(spelling: Spelling) -> None:
    once = redact(spelling.text)
    assert redact(once) == once


@given(
    st.lists(
        st.sampled_from(
            [*(spelling.text for spelling in SPELLINGS), *HONEST, "\n", " ", '"', ", "]
        ),
        max_size=6,
    ).map("".join)
)
def test_twice_is_the_same_as_once_whatever_stands_together(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=20)
        | st.sampled_from([one.text for one in SPELLINGS]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["password", "s3.secret-key", "token", "name", "key", "value", "a"])
                | st.text(max_size=8),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from([None, 1]),
)
def test_json_stays_json(document: object, indent: int | None) -> None:
    json.loads(redact(json.dumps(document, indent=indent)))
    json.loads(redact(json.dumps(json.dumps(document))))


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    redact(text)
    redact("password=" + text)


@pytest.mark.parametrize(
    "piece",
    [
        "password",
        "token" * 3_000,
        "-" * 20_000,
        "password=",
        "password=1,",
        "://",
        "://a@",
        "a:b@",
        "\\",
        '\\"',
        "sig=!",
        "key, ",
        "(((",
        "))) ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "bearer ",
        '"value":"',
        "<password>",
        "token:\n",
        "password='",
        "--token ",
        "[pass=[",
        "jdbc:oracle:thin:a/",
        ("-u a:"),
        "xox",
        ("password: |\n  "),
        "http://a:b/",
        "authorization: ",
        'cookie:"',
        "SG.aaaaaaaaaa",
        "identified by '",
        "密码：",
        "password%3D%22",
        'token\\\\\\"=',
        " ",
        "\n",
    ],
)
def test_a_long_hostile_text_comes_to_an_end(piece: str) -> None:
    """Quadratic ones would take hours here; linear ones take seconds on any machine."""
    long = (piece * (40_000 // len(piece) + 1))[:40_000]
    redact(long)
    redact(long + "\npassword=x")


def test_what_is_looked_for_quickly_is_all_that_is_looked_for_closely() -> None:
    """Each spelling must be suspicious by itself, else it would be passed over in a long log."""
    for spelling in SPELLINGS:
        for secret_line in spelling.text.splitlines():
            if (
                names.NAME_WORD.search(secret_line)
                or shapes.redact_shapes(secret_line) != secret_line
            ):
                assert suspicion.is_suspicious(secret_line), secret_line


def test_settings_that_flink_hides_are_hidden() -> None:
    assert all(holds_secret(f"x.{key}.y") for key in FLINK_SENSITIVE_KEYS)
    assert (
        holds_secret("s3.access-key")
        and not holds_secret("state.backend")
        and not holds_secret("taskmanager.memory.size")
    )


def test_decoded_documents_are_hidden_below_the_names_of_secrets() -> None:
    body = {
        "password": {"value": 5, "set": True},
        "list": [{"key": "s3.secret-key", "value": 7}, {"key": "a", "value": 7}],
        "text": "token=abc",
    }
    assert redact_document(body) == {
        "password": {"value": MASK, "set": True},
        "list": [{"key": "s3.secret-key", "value": MASK}, {"key": "a", "value": 7}],
        "text": f"token={MASK}",
    }


def test_lines_stay_lines() -> None:
    text = "".join(
        f"{spelling.text}\n"
        for spelling in SPELLINGS
        if "BEGIN" not in spelling.text and "\n" not in spelling.text
    )
    assert redact(text).count("\n") == text.count("\n")
    assert not re.search(r"c4n4ry", redact(text))
