"""Whose session it is, as the database last said: all that is known of who looks while it is away."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, Self

from django.conf import settings
from django.http import HttpRequest

from webapp.accounts.sessions import ACTIVE_AT, SIGNED_IN_AT
from webapp.last_known.redis_side import EVERYBODY, SCOPED, asked, gone_key, session_key


@dataclass(frozen=True)
class Viewer:
    """``version`` changes with what the account is and sees. ``seen_at`` and ``until`` are seconds of the epoch: when the database knew
    the session, and when it ends if nothing is done any more.
    """

    account: str
    version: str
    is_scoped: bool
    seen_at: float
    until: float

    @classmethod
    def of(cls, request: HttpRequest, at: float) -> Self:
        """Of a request that was answered: all of this has been read."""
        user: Any = request.user
        told = [user.get_session_auth_hash(), user.is_active, user.is_superuser, user.sees]
        version = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]
        weir, session = settings.WEIR, request.session
        ends = [session.get(SIGNED_IN_AT, 0) + weir.session_age_s]
        if weir.session_idle_s:
            ends.append(session.get(ACTIVE_AT, 0) + weir.session_idle_s)
        return cls(str(user.pk), version, not user.is_superuser and user.sees is not None, at, min(ends))

    def as_text(self) -> str:
        return json.dumps(astuple(self))

    def all_names(self, session: str) -> tuple[str, ...]:
        """Under which they may be told to go."""
        return (session, self.account, EVERYBODY, *((SCOPED,) if self.is_scoped else ()))


def session_name(key: str) -> str:
    """It does not tell the key of the session, by which whoever reads Redis would be signed in."""
    made = hmac.new(settings.SECRET_KEY.encode(), b"weir.last_known " + key.encode(), hashlib.sha256)
    return "session-" + made.hexdigest()[:40]


def known(session: str, now: float) -> Viewer | None:
    """``None`` where nobody was let in by this session, it is over, or its account is another one since."""
    told = asked(lambda redis: redis.get(session_key(session)))
    if not told:
        return None
    viewer = Viewer(*json.loads(told))
    gone = asked(lambda redis: redis.mget([gone_key(name) for name in viewer.all_names(session)]))
    return viewer if gone is not None and now < viewer.until and viewer.seen_at > latest(gone) else None


def latest(gone: Iterable[bytes | None]) -> float:
    return max((float(at) for at in gone if at), default=0.0)
