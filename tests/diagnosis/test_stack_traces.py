"""Traces that are cut keep their innermost cause, by recorded logs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis.root_exceptions import root_of
from spark_jobs.diagnosis.stack_traces import condensed, without_middle

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
STAMP = re.compile(r"^\d{4}-\d\d-\d\d ")


def raw_traces() -> Iterator[str]:
    """Every stack trace of the JobManagers' logs: the lines after a record up to the next one."""
    for log in sorted(RECORDINGS.glob("*/*/logs/*standalonesession*")):
        lines: list[str] = []
        for line in [*log.read_text(encoding="utf-8").splitlines(), "2000-01-01 "]:
            if not STAMP.match(line):
                lines.append(line)
            elif lines:
                if any("Caused by: " in one for one in lines):
                    yield "\n".join(lines)
                lines = []


@pytest.mark.parametrize("most", [600, 2_000])
def test_recorded_traces_keep_their_innermost_cause(most: int) -> None:
    long = [trace for trace in raw_traces() if len(trace) > most]
    assert len(long) > 5
    for trace in long:
        short = condensed(trace, most) or ""
        innermost = [line for line in trace.splitlines() if line.startswith("Caused by: ")][-1]
        assert len(short) <= most
        assert innermost[:200] in short
        assert root_of("x", short).name == root_of("x", trace).name
    assert any(root_of("x", trace[:most]).name != root_of("x", trace).name for trace in long), (
        "a plain cut would do as well"
    )


def test_the_own_frame_of_a_cause_stays_however_deep_it_is() -> None:
    frames = "".join(f"\tat org.apache.flink.Frame{n}.run(Frame{n}.java:{n})\n" for n in range(60))
    own = "\tat shop.Sink.write(Sink.java:9)\n"
    trace = (
        f"java.lang.Exception: outer\n{frames}Caused by: java.io.IOException: disk "
        f"full\n{frames}{own}{frames}"
    )
    short = condensed(trace, 1_500) or ""
    assert root_of("x", short) == root_of("x", trace)
    assert root_of("x", short).frame == "shop.Sink.write(Sink.java:9)"


def test_what_fits_is_left_as_it_is() -> None:
    assert condensed(None, 10) is None
    assert condensed("a: b\n\tat c.d(E.java:1)", 100) == "a: b\n\tat c.d(E.java:1)"


@given(
    st.lists(
        st.sampled_from(["a.B: c", "Caused by: d.E: f", "\tat x.y(Z.java:1)", "", "words " * 50]),
        max_size=60,
    ),
    st.integers(1, 500),
)
def test_it_is_never_longer_than_it_may_be(lines: list[str], most: int) -> None:
    assert len(condensed("\n".join(lines), most) or "") <= most


def test_what_stands_behind_a_long_path_stays() -> None:
    """RocksDB names its log after the whole path of its directory; what it says of it comes last."""
    said = (
        f"While open a file for appending: /var/log/flink/{'data_tm_' * 60}_LOG: File name too long"
    )
    frames = "".join(f"\tat org.apache.flink.Frame{n}.run(Frame{n}.java:{n})\n" for n in range(60))
    short = condensed(
        f"java.lang.Exception: outer\n{frames}Caused by: org.rocksdb.RocksDBException: "
        f"{said}\n{frames}",
        2_000,
    )
    message = root_of("x", short).message
    for one in (message, without_middle(message, 200)):
        assert one.startswith("While open a file for appending: /var/log/flink/data_tm_")
        assert one.endswith("_LOG: File name too long")
    assert len(without_middle(message, 200)) == 200


@given(st.text(max_size=40), st.integers(0, 30))
def test_a_message_is_never_longer_than_it_may_be_and_what_fits_is_whole(
    message: str, most: int
) -> None:
    short = without_middle(message, most)
    assert len(short) <= most
    assert len(message) > most or short == message
