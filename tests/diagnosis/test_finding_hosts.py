"""Which hosts a finding names."""

import pytest

from spark_jobs.diagnosis.finding_hosts import MOST, hosts_of


def test_hosts_are_read_at_any_depth_and_from_what_it_concerns_as_well():
    data = {
        "hosts": ["b"],
        "declines": [{"host": "a", "at": 1}],
        "first": {"deeper": [{"host": "c"}]},
    }
    assert hosts_of(
        data, [{"kind": "host", "subject": "d"}, {"kind": "vertex", "subject": "v"}]
    ) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "data",
    [None, [], {"host": None}, {"hosts": 3}, {"host": {"host": "x"}}, {"hosts": [{"a": 1}, ""]}],
)
def test_what_is_no_name_is_passed_over(data):
    assert hosts_of(data, None) == []


def test_what_names_very_many_is_cut():
    assert len(hosts_of({"hosts": [f"h{n}" for n in range(500)]}, ())) == MOST
