"""Every spelling of a Flink version has one meaning, in one place."""

import ast
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.flink_rest.versions import has_time_metrics, is_known, major, release
from webapp.config.environment import PROJECT_DIR

READERS = {
    "ingest/flink_rest/versions.py",
    "webapp/launch/preflight.py",
    "ingest/redaction/names.py",
}
"""Of Flink's; of Java's; a list of words."""
TAKES_APART = {
    "split",
    "rsplit",
    "partition",
    "match",
    "fullmatch",
    "search",
    "findall",
    "startswith",
    "removeprefix",
    "replace",
    "Version",
}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1.20.5", (1, 20, 5)),
        ("2.3.0", (2, 3, 0)),
        ("1.9", (1, 9)),
        ("2.3-SNAPSHOT", (2, 3)),
        ("1.20.5-rc1", (1, 20, 5)),
        ("2.0-preview1", (2, 0)),
        ("1.17.1-amzn-0", (1, 17, 1)),
        ("1.20-vvr-8.0.11", (1, 20)),
        ("1.14-csa1.7.0.0", (1, 14)),
        ("1.15.2-vvr-6.0", (1, 15, 2)),
        ("1.12.5_vendor", (1, 12, 5)),
        ("1.16.2.7.1.9", (1, 16, 2)),
        ("1.20.20260101", (1, 20)),
        ("1.20.x", (1, 20)),
        ("next", None),
        ("<unknown>", None),
        ("1", None),
        ("1.", None),
        ("v1.20", None),
        ("1.2026", None),
        ("²1.2", None),
        ("1.²", None),
        ("", None),
        (None, None),
    ],
)
def test_a_version_is_its_release_numbers(text, numbers):
    assert release(text) == numbers


@pytest.mark.parametrize("text", ["1.12.5", "1.12-SNAPSHOT", "1.12.5-amzn-0", "1.12-vvr-3.0"])
def test_what_a_release_can_do_does_not_hang_on_its_spelling(text):
    assert (major(text), is_known(text), has_time_metrics(text)) == (1, True, False)


def test_an_unknown_release_is_not_known_and_assumed_to_have_time_metrics():
    assert (major(None), is_known("next"), has_time_metrics(None)) == (None, False, True)


@given(
    st.lists(st.integers(0, 999), min_size=2, max_size=3),
    st.sampled_from(["", "-SNAPSHOT", "-rc1", "-vvr-8.0.11", "_7.1", ".x"]),
)
def test_numbers_come_back_whatever_is_appended(numbers, appended):
    assert release(".".join(map(str, numbers)) + appended) == tuple(numbers)


@given(st.text(max_size=60))
def test_any_text_is_a_release_or_none(text):
    numbers = release(text)
    assert numbers is None or (text.startswith(f"{text.split('.')[0]}.") and len(numbers) in (2, 3))


def test_no_other_module_takes_a_version_apart():
    found = {
        f"{path.relative_to(PROJECT_DIR)}:{line}"
        for package in ("ingest", "spark_jobs", "webapp")
        for path in (PROJECT_DIR / package).rglob("*.py")
        for line in taken_apart(path.read_text())
        if str(path.relative_to(PROJECT_DIR)) not in READERS
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    "code",
    [
        '(self.flink_version or "").split(".")',
        "PATTERN.match(version)",
        'job.flink_version < "1.13"',
        'row["flink_version"].startswith("2")',
    ],
)
def test_what_would_be_a_second_reader_is_seen(code):
    assert list(taken_apart(code)) == [1]


def taken_apart(source: str) -> Iterator[int]:
    """Lines that call something of TAKES_APART on or with a version, or compare its text by
    order.
    """
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in TAKES_APART
        ):
            if any(
                "version" in ast.unparse(part).lower() for part in (node.func.value, *node.args)
            ):
                yield node.lineno
        elif isinstance(node, ast.Compare) and not all(
            isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
            for op in node.ops
        ):
            texts = any(
                isinstance(part, ast.Constant) and isinstance(part.value, str)
                for part in node.comparators
            )
            if texts and "version" in ast.unparse(node.left).lower():
                yield node.lineno
