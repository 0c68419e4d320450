"""Whatever comes and goes, and however late it is looked at: one open alert, no firing lost, an end
to everything.
"""

from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.scale import examples
from tests.webapp.alerting.streams import (
    CRITICAL,
    T0,
    WARNING,
    Player,
    Span,
    at,
    mark_notified,
    spans,
)
from webapp.alerting.choices import AlertState, EventKind, Notified
from webapp.alerting.lifecycle import (
    AlertEpisode,
    Policy,
    add_episode,
    end_without_finding,
    mark_unmuted,
    tick,
)

PLAIN = Policy()
RECORDED = Policy(recorded=True)
LONG_AFTER = 4_000


def open_episode(start: int = 0, seen: int = 0, rank: int = WARNING) -> AlertEpisode:
    return AlertEpisode(at(start), at(max(start, seen)), None, rank)


def closed_episode(start: int, end: int, rank: int = WARNING) -> AlertEpisode:
    return AlertEpisode(at(start), at(end), at(end), rank)


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans(), st.sampled_from((5, 15, 60, 600, 3_600)))
def test_of_a_stream_at_most_one_alert_is_open_at_any_look(stream, every_s):
    class Watched(Player):
        def pass_time(self, now_s):
            assert sum(life.is_open for life in self.alerts) <= 1
            super().pass_time(now_s)

    Watched().play(stream, every_s, stream[-1].end + LONG_AFTER)


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans(), st.sampled_from((5, 15, 60, 600, 3_600)))
def test_no_firing_is_lost_however_seldom_one_looks(stream, every_s):
    played = Player().play(stream, every_s, stream[-1].end + LONG_AFTER)
    assert played.firings == len(stream)
    assert played.notices


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans(), st.sampled_from((5, 15, 60, 600)))
def test_every_stream_ends_resolved_and_told(stream, every_s):
    played = Player().play(stream, every_s, stream[-1].end + LONG_AFTER)
    assert all(life.is_settled and life.notify_since is None for life in played.alerts)
    assert played.notices[-1][1] == "resolved"


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans(), st.sampled_from((5, 15, 60, 600)))
def test_nobody_is_told_twice_in_a_row_that_it_fires(stream, every_s):
    """Unless it grew worse. What ended before anybody was told is told once, as ended."""
    same_rank = [Span(span.start, span.end) for span in stream]
    kinds = [
        kind for _, kind in Player().play(same_rank, every_s, stream[-1].end + LONG_AFTER).notices
    ]
    assert ("firing", "firing") not in pairwise(kinds) and kinds[-1] == "resolved"


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans(), st.sampled_from((15, 600)))
def test_seeing_it_all_again_tells_nothing(stream, every_s):
    end = stream[-1].end + LONG_AFTER
    played = Player().play(stream, every_s, end)
    before = list(played.notices)
    for span in stream:
        played.see(span.as_seen(end), end)
    played.pass_time(end + 1)
    assert played.notices == before and len(played.alerts) == len(
        {life.starts_at for life in played.alerts}
    )


@settings(max_examples=examples(40, 250), deadline=None)
@given(spans())
def test_a_recording_leaves_one_settled_alert_however_many_episodes_it_holds(stream):
    played = Player(RECORDED, tells=False)
    for span in stream:
        played.see(span.as_seen(10_000_000), 10_000_000)
    played.tells = True
    played.pass_time(10_000_001)
    assert [kind for _, kind in played.notices] == ["resolved"]
    assert len(played.alerts) == 1 and played.alerts[0].firings == len(stream)


def test_twenty_restarts_a_minute_for_ten_minutes_are_two_notices():
    storm = [Span(start, start + 1) for start in range(0, 600, 3)]
    played = Player().play(storm, 1, 600 + LONG_AFTER)
    assert [kind for _, kind in played.notices] == ["firing", "resolved"]
    assert played.alerts[0].flapping and played.alerts[0].firings == 200


def test_two_failures_ten_quiet_minutes_then_a_burst_fires_again():
    played = Player().play([Span(0, 5), Span(20, 25), Span(640, 700)], 15, LONG_AFTER)
    assert [kind for _, kind in played.notices] == ["firing", "resolved", "firing", "resolved"]
    assert played.notices[2][0] == 645


def test_what_came_and_went_between_two_looks_is_to_be_told_as_ended():
    step = add_episode(None, closed_episode(0, 10), PLAIN, at(60))
    assert (step.life.state, step.life.notified, step.life.notify_since) == (
        AlertState.RESOLVED,
        Notified.NOTHING,
        at(0),
    )
    assert [kind for _, kind in step.events] == [
        EventKind.FIRED,
        EventKind.QUIET,
        EventKind.RESOLVED,
    ]


def test_what_ended_untold_and_begins_again_before_its_notice_fires():
    ended = add_episode(None, closed_episode(0, 10), PLAIN, at(12)).life
    again = add_episode(ended, open_episode(13), PLAIN, at(14)).life
    assert (again.state, again.notified, again.notify_since) == (
        AlertState.FIRING,
        Notified.NOTHING,
        at(0),
    )


def test_another_cause_under_an_alert_that_was_told_is_news_once():
    def seen(*causes: str) -> AlertEpisode:
        return AlertEpisode(at(0), at(60), None, WARNING, frozenset(causes))

    told = mark_notified(add_episode(None, seen("out of memory"), PLAIN, at(10)).life)
    assert add_episode(told, seen("out of memory"), PLAIN, at(20)).life.notify_since is None
    step = add_episode(told, seen("lost"), PLAIN, at(30))
    assert step.life.notify_since == at(30) and step.events == ((at(30), EventKind.CAUSE),)
    told = mark_notified(step.life)
    for causes in (("lost",), ("out of memory",), ("lost", "out of memory")):
        assert add_episode(told, seen(*causes), PLAIN, at(40)).life.notify_since is None


def test_another_cause_before_the_first_notice_is_in_that_one():
    first = add_episode(
        None, AlertEpisode(at(0), at(0), None, WARNING, frozenset("a")), PLAIN, at(1)
    ).life
    both = add_episode(
        first, AlertEpisode(at(0), at(5), None, WARNING, frozenset("b")), PLAIN, at(6)
    ).life
    assert both.notify_since == at(0) and mark_notified(both).notified_causes == {"a", "b"}


def test_it_is_held_before_it_is_resolved():
    firing = add_episode(None, open_episode(), PLAIN, at(10)).life
    quiet = add_episode(mark_notified(firing), closed_episode(0, 60), PLAIN, at(100)).life
    assert tick(quiet, PLAIN, at(219)).life.state == AlertState.FIRING
    over = tick(quiet, PLAIN, at(220)).life
    assert (over.state, over.ends_at, over.notify_since) == (AlertState.RESOLVED, at(60), at(220))


def test_it_fires_only_after_its_hold_time():
    patient = Policy(hold_before=timedelta(minutes=5))
    waiting = add_episode(None, open_episode(0, 10), patient, at(10)).life
    assert waiting.state == AlertState.PENDING and waiting.notify_since is None
    assert tick(waiting, patient, at(299)).life.state == AlertState.PENDING
    assert tick(waiting, patient, at(300)).life.state == AlertState.FIRING


def test_what_ended_before_its_hold_time_leaves_no_trace():
    patient = Policy(hold_before=timedelta(minutes=5))
    waiting = add_episode(None, open_episode(0, 10), patient, at(10)).life
    assert add_episode(waiting, closed_episode(0, 60), patient, at(70)).life is None
    assert add_episode(None, closed_episode(0, 60), patient, at(70)).life is None


def test_three_firings_within_half_an_hour_are_flapping_and_then_ten_quiet_minutes_are_needed():
    played = Player().play([Span(0, 10), Span(400, 410), Span(800, 810)], 10, 1_400)
    last = played.alerts[-1]
    assert last.flapping and last.state == AlertState.FIRING
    assert tick(last, PLAIN, at(811 + 610)).life.state == AlertState.RESOLVED


def test_firings_further_apart_do_not_flap():
    played = Player().play(
        [Span(start, start + 10) for start in (0, 1_500, 3_000, 4_500)], 10, 6_000
    )
    assert len(played.alerts) == 4 and not any(life.flapping for life in played.alerts)


def test_a_worse_severity_is_news_and_a_better_one_is_not():
    firing = mark_notified(add_episode(None, open_episode(), PLAIN, at(10)).life)
    worse = add_episode(firing, open_episode(rank=CRITICAL), PLAIN, at(20)).life
    assert worse.notify_since == at(20)
    assert (
        add_episode(
            mark_notified(worse), open_episode(rank=WARNING), PLAIN, at(30)
        ).life.notify_since
        is None
    )


def test_an_episode_that_goes_on_after_its_end_was_told_is_told_again():
    firing = mark_notified(add_episode(None, open_episode(), PLAIN, at(10)).life)
    over = mark_notified(
        tick(add_episode(firing, closed_episode(0, 60), PLAIN, at(100)).life, PLAIN, at(300)).life
    )
    again = add_episode(over, open_episode(0, 400), PLAIN, at(410)).life
    assert (again.state, again.notified, again.starts_at, again.ends_at) == (
        AlertState.FIRING,
        Notified.NOTHING,
        at(0),
        None,
    )


def test_an_alert_whose_finding_is_gone_ends_after_its_hold_time():
    firing = mark_notified(add_episode(None, open_episode(), PLAIN, at(10)).life)
    quiet = end_without_finding(firing, PLAIN, at(50)).life
    assert quiet.state == AlertState.FIRING
    assert end_without_finding(quiet, PLAIN, at(50 + 120)).life.state == AlertState.RESOLVED


def test_switched_off_it_is_resolved_and_that_is_told():
    firing = mark_notified(add_episode(None, open_episode(), PLAIN, at(10)).life)
    off = add_episode(firing, open_episode(), Policy(alerts=False), at(20)).life
    assert (off.state, off.notify_since) == (AlertState.RESOLVED, at(20))


def test_let_go_what_still_fires_is_told_again():
    firing = mark_notified(add_episode(None, open_episode(), PLAIN, at(10)).life)
    assert mark_unmuted(firing, at(100)).notify_since == at(100)


def test_the_first_evidence_is_what_the_wait_of_a_group_counts_from():
    assert add_episode(None, open_episode(0, 60), PLAIN, at(90)).life.notify_since == T0


def test_the_end_of_a_finding_that_turned_out_to_begin_earlier_ends_its_alert():
    firing = add_episode(None, open_episode(10, 20), PLAIN, at(20)).life
    assert add_episode(firing, closed_episode(9, 30), PLAIN, at(40)).life.quiet_since == at(40)


def test_what_begins_days_after_an_end_that_nobody_was_told_of_is_another_alert():
    ended = add_episode(None, closed_episode(0, 60), RECORDED, at(100)).life
    days_later = 4 * 86_400
    step = add_episode(ended, open_episode(days_later, days_later), PLAIN, at(days_later))
    assert step.is_new and step.life.starts_at == at(days_later)
