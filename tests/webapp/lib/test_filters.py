"""Words of templates."""

from webapp.lib.filters import breakable, counted, counted_pairs, query_of, subtask


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


def test_a_query_has_what_is_known_and_is_empty_where_nothing_is() -> None:
    assert query_of("from=now-1h&to=now", "", rule="a b", cluster=None, job_id="") == (
        "?from=now-1h&to=now&rule=a+b"
    )
    assert query_of("", rule=None) == ""


def test_a_subtask_has_its_number_and_a_vertex_without_one_has_none() -> None:
    assert subtask("Map", {"subtask": 0}) == "Map/0"
    assert [subtask("Map", entry) for entry in ({}, {"subtask": None})] == ["Map", "Map"]
    assert subtask("m" * 200, {"subtask": 3}) == f"{'m' * 99}…/3"


def test_a_long_address_breaks_behind_punctuation_and_stays_escaped():
    assert breakable("<b> at http://127.0.0.1:8081/a 04:53") == (
        "&lt;b&gt; at http://<wbr>127.<wbr>0.<wbr>0.<wbr>1:<wbr>8081/<wbr>a 04:53"
    )
