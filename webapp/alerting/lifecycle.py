"""The life cycle of an alert: pure functions on plain data, without database and clock. An identity
(cluster, job, rule, subject) has at most one unresolved alert; its findings are the episodes of the
alert.

1. :func:`add_episode` adds an episode as it is now. An episode that opened and closed since the
   last evaluation fires, too.
2. :func:`tick` applies the time: a hold time may be over.
3. An episode that overlaps an alert in data time belongs to it: reading the same data again
   notifies nobody.
4. The next episode reopens an alert whose end was not notified yet, unless that episode begins
   more than half an hour later.
5. An alert is notified again if it gets more severe after it was milder for ten minutes, but not if
   its severity just changes back and forth.
6. A cause is notified unless a notice of the alert has already named it.

Firings and episodes count in data time: the result is the same if they are seen one by one or all
at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from webapp.alerting.choices import AlertState, EventKind, Notified

FLAPS = 3
FLAP_WINDOW = timedelta(minutes=30)
FLAP_QUIET = timedelta(minutes=10)
"""After three firings within half an hour, an alert fires until it was quiet for ten minutes."""
MILDER_FOR = timedelta(minutes=10)
"""After this time a lower severity counts as notified; then a rise is notified again."""


@dataclass(frozen=True, slots=True)
class Policy:
    """``recorded``: the cluster is a recording, whose data are all in the past."""

    alerts: bool = True
    hold_before: timedelta = timedelta()
    hold_after: timedelta = timedelta(seconds=120)
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class AlertEpisode:
    """``closed_at``: None while the finding is open."""

    first_seen: datetime
    last_seen: datetime
    closed_at: datetime | None
    rank: int
    causes: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


@dataclass(frozen=True, slots=True)
class Life:
    """The columns of :class:`webapp.alerting.models.Alert` that change."""

    state: str
    starts_at: datetime
    episode_at: datetime
    ends_at: datetime | None = None
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    quiet_since: datetime | None = None
    firings: int = 0
    fired: tuple[datetime, ...] = ()
    flapping: bool = False
    rank: int = 0
    notified: str = Notified.NOTHING
    notified_rank: int = 0
    milder_since: datetime | None = None
    notify_since: datetime | None = None
    causes: frozenset[str] = frozenset()
    notified_causes: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        return self.state != AlertState.RESOLVED

    @property
    def has_new_cause(self) -> bool:
        return (
            self.state == AlertState.FIRING
            and self.notified == Notified.FIRING
            and not self.causes <= self.notified_causes
        )

    @property
    def is_settled(self) -> bool:
        return self.state == AlertState.RESOLVED and self.notified == Notified.RESOLVED

    def overlaps(self, episode: AlertEpisode) -> bool:
        until = episode.closed_at
        return (until is None or until >= self.starts_at) and (
            self.ends_at is None or episode.first_seen <= self.ends_at
        )


LifeEvent = tuple[datetime, str]
"""Instant, :class:`EventKind`."""


@dataclass(frozen=True, slots=True)
class Step:
    """``life`` is None if there is to be no alert: an alert that never fired is deleted."""

    life: Life | None
    events: tuple[LifeEvent, ...] = ()
    is_new: bool = False


def add_episode(last: Life | None, episode: AlertEpisode, policy: Policy, now: datetime) -> Step:
    """``last``: the alert of this identity that overlaps the episode, else its newest one."""
    last = _forget_higher_rank(last, now) if last else None
    if last is None or (not last.overlaps(episode) and _begins_another(last, episode, policy)):
        if not policy.alerts:
            return Step(None)
        return _begin(last.fired if last else (), episode, policy, now)
    if not policy.alerts:
        return _switch_off(last, episode, now)
    if last.is_settled and not episode.is_open:
        # The end was notified already; now it is known more exactly.
        return _step(last, replace(last, ends_at=_latest(last.ends_at, episode.closed_at)), [], now)
    if not last.is_open:
        return _reopen(last, episode, policy, now)
    return _continue(last, episode, policy, now)


def _begins_another(last: Life, episode: AlertEpisode, policy: Policy) -> bool:
    if last.is_settled:
        return True
    is_late = last.ends_at is not None and episode.first_seen - last.ends_at > FLAP_WINDOW
    return is_late and not last.is_open and not policy.recorded


def end_without_finding(last: Life, policy: Policy, now: datetime) -> Step:
    """The finding was deleted and not replaced."""
    if last.state == AlertState.PENDING:
        return Step(None)
    if last.quiet_since is not None:
        return tick(last, policy, now)
    quiet = replace(
        last, quiet_since=now, ends_at=last.ends_at or (last.episode_at if policy.recorded else now)
    )
    return _tick_quiet(quiet, [(now, EventKind.QUIET)], policy, now)


def tick(last: Life, policy: Policy, now: datetime) -> Step:
    if last.state == AlertState.PENDING:
        if policy.recorded or now - last.episode_at < policy.hold_before:
            return Step(last)
        return _step(last, *_fire(last, last.episode_at, now), now)
    resolves = resolves_at(last, policy)
    if resolves is not None and now >= resolves:
        return _step(last, _resolve(last, now), [(last.ends_at or now, EventKind.RESOLVED)], now)
    return Step(last)


def resolves_at(life: Life, policy: Policy) -> datetime | None:
    """When the alert is resolved unless it fires again; None if it is not quiet."""
    if life.state != AlertState.FIRING or life.quiet_since is None:
        return None
    if policy.recorded or (life.notified == Notified.NOTHING and not life.flapping):
        # The only notice says that the alert ended.
        return life.quiet_since
    hold = max(policy.hold_after, FLAP_QUIET) if life.flapping else policy.hold_after
    return life.quiet_since + hold


def mark_unmuted(last: Life, now: datetime) -> Life:
    """A firing alert is notified, even if it was notified before the mute."""
    if last.state != AlertState.FIRING:
        return last
    return replace(
        last,
        notified=Notified.NOTHING,
        notify_since=now if last.notified else last.notify_since or now,
    )


def mark_muted(last: Life) -> Life:
    """A muted alert that ended counts as notified."""
    if last.state == AlertState.RESOLVED and last.notified == Notified.NOTHING:
        return replace(last, notified=Notified.RESOLVED, notify_since=None)
    return last


def _begin(fired: Iterable[datetime], episode: AlertEpisode, policy: Policy, now: datetime) -> Step:
    first = episode.first_seen
    life = Life(
        AlertState.PENDING,
        first,
        first,
        rank=episode.rank,
        fired=tuple(fired),
        causes=episode.causes,
    )
    seen_for = episode.last_seen - first
    if episode.is_open and not policy.recorded:
        seen_for = max(seen_for, now - first)
    if seen_for < policy.hold_before:
        if not episode.is_open:
            return Step(None)
        return Step(life, ((first, EventKind.PENDING),), is_new=True)
    life, events = _fire(life, first, now)
    if not policy.hold_before:
        # The group waits from the first evidence on, even if that was collected late.
        life = replace(life, notify_since=min(first, now))
    if not episode.is_open:
        return replace(
            _tick_quiet(*_mark_quiet(life, episode, events, now), policy, now), is_new=True
        )
    return replace(_step(None, life, events, now), is_new=True)


def _continue(last: Life, episode: AlertEpisode, policy: Policy, now: datetime) -> Step:
    life = last
    if not episode.causes <= last.causes:
        since = last.notify_since or min(episode.last_seen, now)
        life = replace(last, causes=last.causes | episode.causes, notify_since=since)
    if episode.first_seen >= last.episode_at:
        life = replace(life, rank=episode.rank)
    events = list[LifeEvent]()
    is_same = last.overlaps(episode) and (
        last.quiet_since is None or not episode.is_open or episode.first_seen <= last.episode_at
    )
    if last.state == AlertState.PENDING:
        return _continue_pending(life, episode, policy, now)
    if not is_same:
        life, events = _fire(life, episode.first_seen, now)
    elif episode.first_seen < life.starts_at:
        life = replace(life, starts_at=episode.first_seen)
    if episode.first_seen > life.episode_at:
        life = replace(life, episode_at=episode.first_seen)
    if episode.is_open:
        life = replace(
            life,
            quiet_since=None,
            ends_at=None,
            episode_at=max(life.episode_at, episode.first_seen),
        )
        return _step(last, life, events, now)
    is_earlier = max(episode.first_seen, episode.last_seen) < life.episode_at
    if is_earlier and last.quiet_since is None:
        # The end of an earlier episode: a later one is open.
        return _step(last, life, events, now)
    return _tick_quiet(*_mark_quiet(life, episode, events, now), policy, now)


def _continue_pending(life: Life, episode: AlertEpisode, policy: Policy, now: datetime) -> Step:
    start = _begin(life.fired, episode, policy, now)
    if start.life is None or start.life.state == AlertState.PENDING:
        is_earlier = not episode.is_open and episode.first_seen < life.episode_at
        return Step(life if is_earlier else start.life)
    return replace(start, is_new=False)


def _reopen(last: Life, episode: AlertEpisode, policy: Policy, now: datetime) -> Step:
    if not last.is_settled:
        reopened = replace(
            last, state=AlertState.FIRING, resolved_at=None, quiet_since=last.quiet_since or now
        )
        if not episode.is_open and last.overlaps(episode):
            return _step(
                last, replace(last, ends_at=_latest(last.ends_at, episode.closed_at)), [], now
            )
        step = _continue(reopened, episode, policy, now)
        return replace(step, events=((now, EventKind.REOPENED), *step.events))
    life, events = _fire(last, episode.first_seen, now)
    life = replace(
        life,
        fired_at=now,
        resolved_at=None,
        quiet_since=None,
        ends_at=None,
        rank=episode.rank,
        causes=episode.causes,
        notified=Notified.NOTHING,
        episode_at=max(last.episode_at, episode.first_seen),
        starts_at=min(last.starts_at, episode.first_seen),
    )
    return _step(None, life, [(now, EventKind.REOPENED), *events], now)


def _switch_off(last: Life, episode: AlertEpisode, now: datetime) -> Step:
    if last.state == AlertState.PENDING:
        return Step(None)
    if not last.is_open:
        return Step(last)
    life = replace(last, ends_at=_latest(episode.last_seen, episode.closed_at))
    return _step(last, _resolve(life, now), [(now, EventKind.RESOLVED)], now)


def _fire(life: Life, at: datetime, now: datetime) -> tuple[Life, list[LifeEvent]]:
    kind = EventKind.FIRED_AGAIN if life.firings else EventKind.FIRED
    recent = {instant for instant in life.fired if abs(at - instant) <= FLAP_WINDOW}
    fired = tuple(sorted({*recent, at})[-FLAPS:])
    events: list[LifeEvent] = [(at, kind)]
    flapping = life.flapping or len(fired) >= FLAPS
    if flapping and not life.flapping:
        events.append((at, EventKind.FLAPPING))
    life = replace(
        life,
        state=AlertState.FIRING,
        fired_at=life.fired_at or now,
        firings=life.firings + 1,
        fired=fired,
        flapping=flapping,
    )
    return life, events


def _mark_quiet(
    life: Life, episode: AlertEpisode, events: list[LifeEvent], now: datetime
) -> tuple[Life, list[LifeEvent]]:
    if life.quiet_since is None:
        events = [*events, (episode.closed_at or now, EventKind.QUIET)]
    return replace(
        life, quiet_since=life.quiet_since or now, ends_at=_latest(life.ends_at, episode.closed_at)
    ), events


def _resolve(life: Life, now: datetime) -> Life:
    return replace(
        life,
        state=AlertState.RESOLVED,
        resolved_at=now,
        quiet_since=life.quiet_since or now,
        ends_at=life.ends_at or now,
    )


def _tick_quiet(life: Life, events: list[LifeEvent], policy: Policy, now: datetime) -> Step:
    """A quiet alert may be resolved at once, if its hold time is over."""
    step = tick(life, policy, now)
    return _step(None, step.life or life, [*events, *step.events], now)


def _step(before: Life | None, life: Life, events: list[LifeEvent], now: datetime) -> Step:
    is_seen_again = before is not None and before.quiet_since and life.quiet_since is None
    if is_seen_again and EventKind.FIRED_AGAIN not in {kind for _at, kind in events}:
        events = [*events, (now, EventKind.SEEN_AGAIN)]
    if before is not None and life.rank != before.rank and life.is_open:
        events = [*events, (now, EventKind.SEVERITY)]
    if before is not None and not life.causes <= before.causes and life.is_open:
        events = [*events, (now, EventKind.CAUSE)]
    milder_since = (life.milder_since or now) if life.rank < life.notified_rank else None
    return Step(
        replace(life, milder_since=milder_since, notify_since=_notify_since(life, now)),
        tuple(events),
    )


def _forget_higher_rank(life: Life, now: datetime) -> Life:
    if life.milder_since is None or now - life.milder_since < MILDER_FOR:
        return life
    return replace(life, notified_rank=life.rank, milder_since=None)


def _notify_since(life: Life, now: datetime) -> datetime | None:
    """Since when there is something to notify; None if there is nothing."""
    if life.state == AlertState.FIRING:
        is_worse = life.rank > life.notified_rank
        is_news = life.notified != Notified.FIRING or is_worse or life.has_new_cause
    else:
        is_news = life.state == AlertState.RESOLVED and life.notified != Notified.RESOLVED
    return (life.notify_since or now) if is_news else None


def _latest(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second
