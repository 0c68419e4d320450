"""A long stack trace keeps its beginning and its innermost cause with the first frames of it."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.traces import CUT, shortened
from spark_jobs.diagnosis.root_exceptions import root_of

FLINK = "".join(
    f"\tat org.apache.flink.runtime.A{number}.run(A{number}.java:{number})\n"
    for number in range(400)
)
DEEP = (
    f"java.lang.Exception: Could not perform checkpoint 7 for operator enrich (1/2)#0.\n{FLINK}"
    "Caused by: org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete "
    f"snapshot 7\n{FLINK}"
    "Caused by: java.lang.IllegalStateException: quota of shop 17 is used up\n"
    f"\tat shop.Quota.take(Quota.java:41)\n\tat shop.Enrich.snapshotState(Enrich.java:97)\n{FLINK}"
)


def test_the_innermost_cause_of_a_long_trace_and_its_own_frame_are_kept() -> None:
    assert len(DEEP) > 16_384 and "Quota" not in DEEP[:16_384]
    kept = shortened(DEEP, 16_384)
    assert len(kept) == 16_384
    assert kept.startswith("java.lang.Exception: Could not perform checkpoint 7")
    root = root_of("", kept)
    assert (root.name, root.message) == (
        "java.lang.IllegalStateException",
        "quota of shop 17 is used up",
    )
    assert root.frame == "shop.Quota.take(Quota.java:41)"


def test_where_the_cause_is_within_reach_or_there_is_none_the_beginning_is_kept() -> None:
    assert shortened("short", 16_384) == "short"
    assert shortened(FLINK, 1_000) == FLINK[:1_000]
    early = f"a.B: c\n\tat d\nCaused by: e.F: g\n{FLINK}"
    assert shortened(early, 1_000) == early[:1_000]


@given(
    st.lists(
        st.sampled_from(["x" * 90, "\nCaused by: a.B: c", "\n\tat a.b.C(D.java:1)", "\n"]),
        max_size=60,
    ).map("".join),
    st.integers(200, 900),
)
def test_it_is_never_longer_than_asked_for(trace: str, most: int) -> None:
    kept = shortened(trace, most)
    assert len(kept) == min(len(trace), most)
    beginning, _, innermost = kept.partition(CUT)
    assert trace.startswith(beginning)
    assert innermost in trace
