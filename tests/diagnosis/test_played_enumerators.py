"""A folder that Flink's own file source watches is moved away (``gone-input`` of the lab)."""

from tests.played import answers, evidence, logged, of_rule

RULE = "data.unread"
ONCE, FOR_GOOD = "2.3.0/input-gone-once", "1.20.5/gone-input"


def failures(played):
    return logged(played, "standalonesession").count(" - Failed to enumerate files\n")


def test_a_source_that_looks_in_vain_is_critical_though_flink_says_that_all_is_well():
    last = of_rule(FOR_GOOD, RULE)[-1]
    assert last["severity"] == "critical"
    assert evidence(last, "failures to look for new data") == failures(FOR_GOOD) > 2
    assert "/input does not exist" in str(last["cause"])
    *_, job = answers(FOR_GOOD, "/jobs/[0-9a-f]{32}")
    *_, checkpoints = answers(FOR_GOOD, "/jobs/[0-9a-f]{32}/checkpoints")
    assert (job.body["state"], checkpoints.body["history"][0]["status"]) == ("RUNNING", "COMPLETED")


def test_one_look_that_fails_is_no_finding():
    assert failures(ONCE) == 1
    assert not of_rule(ONCE, RULE)
