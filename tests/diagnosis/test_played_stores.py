"""An S3 that throttled and refused a real Flink on Hadoop's S3A (``tests/lab/failing_store.py``), and
what its logs say of that in the plainest way.
"""

from datetime import timedelta

import pytest

from tests.played import instants, logged, of_rule

RULE = "store.faults"
RETRIED = r"WriteOperationHelper .*: Retried \d+: "
LOST = r"Failed to trigger or complete checkpoint \d+ for job "


@pytest.mark.parametrize(
    ("incident", "title", "code"),
    [
        ("throttled-store", "s3://lake throttles requests (503 or 429)", "STORE_THROTTLED"),
        ("refused-store", "s3://lake/flink/ck refuses access (403)", "STORE_REFUSED"),
    ],
)
def test_each_retry_and_each_lost_checkpoint_is_counted_once_and_not_before(incident, title, code):
    played = f"1.20.5/{incident}"
    found = of_rule(played, RULE)
    last = found[-1]
    assert (str(last["title"]), last["severity"], last["data"]["cause"]) == (title, "warning", code)
    lost, retried = (instants(logged(played), pattern) for pattern in (LOST, RETRIED))
    counts = [last["data"]["counts"].get(name, 0) for name in ("checkpoint", "retried")]
    assert counts == [len(lost), len(retried)]
    assert counts[0]
    assert found[0]["window_start"] > min(lost + retried) - timedelta(minutes=1)


def test_of_a_checkpoint_that_could_not_be_begun_the_log_says_why():
    """REST says "IO-problem" alone."""
    last = of_rule("1.20.5/refused-store", "checkpoint.failed")[-1]
    assert last["data"]["cause"] == "STORE_REFUSED"


@pytest.mark.parametrize("played", ["2.3.0/balanced", "1.20.5/storage-gone"])
def test_other_storage_that_is_well_or_fails_is_no_object_store(played):
    assert not of_rule(played, RULE)
