"""A cluster is judged the same whether it is read by REST and log files, or as fleets are: by
Prometheus, and logs as JSON inside CRI.
"""

import pytest

from tests.selections import mostly_long
from tests.ways import found, recorded


@pytest.mark.parametrize("played", mostly_long(recorded()))
def test_beside_a_prometheus_and_from_json_in_cri_the_same_is_found(played):
    plain, fleet = found(played, "plain"), found(played, "fleet")
    assert plain.told, "an incident has findings"
    assert fleet.told == plain.told


@pytest.mark.parametrize("played", mostly_long(recorded()))
def test_from_prometheus_and_logs_alone_what_is_not_found_is_unknown(played):
    plain, alone = found(played, "plain"), found(played, "alone")
    assert alone.told <= plain.told
    assert {
        (job, rule) for job, rule, _subject, _severity in plain.told - alone.told
    } <= alone.unknown
