"""Streams of episodes of one identity, as rules would find them, and a player that shows them to
the lifecycle look by look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from webapp.alerting.choices import AlertState, EventKind, Notified
from webapp.alerting.lifecycle import AlertEpisode, Life, Policy, add_episode, tick

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
WARNING, CRITICAL = 2, 3


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def mark_notified(last: Life) -> Life:
    """``last`` after its notice, as :mod:`webapp.alerting.notifications` stores it."""
    is_resolved = last.state == AlertState.RESOLVED
    return replace(
        last,
        notified=Notified.RESOLVED if is_resolved else Notified.FIRING,
        notified_rank=last.rank,
        milder_since=None,
        notify_since=None,
        notified_causes=last.causes,
    )


@dataclass(frozen=True)
class Span:
    """Seconds of an episode: from its first to its last occurrence."""

    start: int
    end: int
    rank: int = WARNING

    def as_seen(self, now_s: int) -> AlertEpisode | None:
        """As a finding without a hold time of its own shows it; None before it begins."""
        if now_s < self.start:
            return None
        over = now_s > self.end
        return AlertEpisode(
            at(self.start), at(min(self.end, now_s)), at(self.end) if over else None, self.rank
        )


@st.composite
def spans(draw: st.DrawFn, most: int = 12) -> list[Span]:
    """Disjoint, in order of time; short and long ones, close together and far apart."""
    found, clock = [], draw(st.integers(0, 60))
    for _ in range(draw(st.integers(1, most))):
        length = draw(st.one_of(st.integers(0, 30), st.integers(0, 900)))
        found.append(Span(clock, clock + length, draw(st.sampled_from((WARNING, CRITICAL)))))
        clock += length + draw(st.one_of(st.integers(1, 20), st.integers(1, 2_000)))
    return found


@dataclass
class Player:
    """Looks every ``every_s``; tells at once what is to be told, unless ``tells`` is off."""

    policy: Policy = field(default_factory=Policy)
    tells: bool = True
    alerts: list[Life] = field(default_factory=list)
    notices: list[tuple[int, str]] = field(default_factory=list)
    firings: int = 0

    def play(self, stream: Sequence[Span], every_s: int, until_s: int) -> "Player":
        shown: dict[int, AlertEpisode] = {}
        for now_s in range(0, until_s + 1, every_s):
            for number, span in enumerate(stream):
                seen = span.as_seen(now_s)
                before = shown.get(number)
                if seen and (before is None or before.is_open != seen.is_open):
                    self.see(seen, now_s)
                    shown[number] = seen
            self.pass_time(now_s)
        return self

    def see(self, episode: AlertEpisode, now_s: int) -> None:
        lives = self.alerts
        place = next(
            (i for i in reversed(range(len(lives))) if lives[i].is_open),
            next(
                (i for i in reversed(range(len(lives))) if lives[i].overlaps(episode)),
                len(lives) - 1 if lives else None,
            ),
        )
        step = add_episode(None if place is None else lives[place], episode, self.policy, at(now_s))
        self.firings += sum(
            kind in (EventKind.FIRED, EventKind.FIRED_AGAIN) for _at, kind in step.events
        )
        if step.life is None:
            if place is not None and lives[place].is_open:
                del lives[place]
        elif step.is_new or place is None:
            lives.append(step.life)
        else:
            lives[place] = step.life

    def pass_time(self, now_s: int) -> None:
        for place, life in enumerate(self.alerts):
            step = tick(life, self.policy, at(now_s))
            assert step.life is not None
            self.firings += sum(
                kind in (EventKind.FIRED, EventKind.FIRED_AGAIN) for _at, kind in step.events
            )
            self.alerts[place] = step.life
            if self.tells and step.life.notify_since is not None:
                self.tell(place, now_s)

    def tell(self, place: int, now_s: int) -> None:
        life = self.alerts[place]
        self.notices.append((now_s, "resolved" if life.state == AlertState.RESOLVED else "firing"))
        self.alerts[place] = mark_notified(life)
