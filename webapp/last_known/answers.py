"""Keeping answers and finding them: bounded in bytes, number and age, apart by account and by all that makes them another one."""

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webapp.last_known import forgetting
from webapp.last_known.redis_side import AGES, ANSWERS, AWAY, BYTES, KEEP, OF_ACCOUNT, asked, gone_key, kept_s, session_key
from webapp.last_known.viewers import Viewer, latest

if TYPE_CHECKING:
    from redis import Redis

MOST_BYTES_OF_ONE = 256 << 10
"""Compressed."""
MOST_OF_ACCOUNT = 150
MOST_BYTES = 32 << 20
"""Of all. The embedded Redis has 128 MiB, and the messages of tasks need their part."""
LEVEL = 1
"""Of zlib: a third of the time of the usual one, and a fifth more bytes."""


@dataclass(frozen=True)
class Answer:
    """``asked_at``: seconds of the epoch."""

    content_type: str
    body: bytes
    asked_at: float


def answer_name(viewer: Viewer, *variant: str) -> str:
    """``variant``: the address, and all that makes its answer another one."""
    told = json.dumps([viewer.version, viewer.is_scoped, *variant])
    return f"{viewer.account}:{hashlib.sha256(told.encode()).hexdigest()[:40]}"


def keep(session: str, viewer: Viewer, name: str, answer: Answer) -> bool:
    """One message to Redis; what is too old, or too much of the account or of all, goes with it. Whether it was kept."""
    packed = answer.content_type.encode() + b"\n" + zlib.compress(answer.body, LEVEL)
    if len(packed) > MOST_BYTES_OF_ONE or not forgetting.is_done():
        return False
    keys = [ANSWERS, AGES, BYTES, session_key(session), AWAY]
    bounds = [kept_s(), MOST_OF_ACCOUNT, MOST_BYTES]
    told: list[str | bytes | float] = [OF_ACCOUNT, viewer.account, name, packed, answer.asked_at, *bounds, viewer.as_text()]
    return asked(lambda redis: redis.eval(KEEP, len(keys), *keys, *told)) is not None


def find(session: str, viewer: Viewer, name: str, now: float) -> Answer | None:
    """``None`` where nothing was kept, or nothing that is to be shown."""
    names = viewer.all_names(session)
    if not forgetting.is_done():
        return None
    with_gone = asked(lambda redis: [redis.hget(ANSWERS, name), redis.zscore(AGES, name), *redis.mget([gone_key(one) for one in names])])
    if not with_gone:
        return None
    packed, at, *gone = with_gone
    if packed is None or at is None or at <= latest(gone) or now - at > kept_s():
        return None
    content_type, _, compressed = packed.partition(b"\n")
    return Answer(content_type.decode(), zlib.decompress(compressed), at)


def missed_since(now: float) -> float:
    """When the database was first missed since an answer was last kept; now without Redis."""

    def first(redis: "Redis") -> float:
        redis.set(AWAY, now, nx=True, ex=kept_s())
        return float(redis.get(AWAY) or now)

    return asked(first) or now
