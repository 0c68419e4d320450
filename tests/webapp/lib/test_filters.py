"""Words of templates."""

from webapp.lib.filters import counted, counted_pairs


def test_counts_of_a_run_are_words_and_those_of_nothing_are_left_out() -> None:
    counts = {
        "rows": {"job_current": 0},
        "changed": {},
        "deleted": {"log_event": 12, "size_trend": 0},
        "jobs": 0,
        "to": "2026-11-21",
    }
    assert counted_pairs(counts) == [
        ("deleted", "12 log event"),
        ("jobs", "0"),
        ("to", "2026-11-21"),
    ]


def test_no_count_looks_like_a_program() -> None:
    nested = {"checkpoints": {"merged": 3, "removed": 0}, "logs": {"merged": 0}}
    assert [counted(one) for one in (nested, [{"files": 2}, 1], True, None)] == [
        "3 merged checkpoints",
        "2 files, 1",
        "yes",
        "–",
    ]
