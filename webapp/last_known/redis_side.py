"""What lies in Redis, and the two scripts that change it: each is one message, and whole or not at all.

Nothing here raises: without Redis nothing is kept and nothing found.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.cache import caches

from webapp.config import breaker

if TYPE_CHECKING:
    from redis import Redis

CACHE = "webapp.config.cache.ForgivingRedisCache"

_PREFIX = "{weir:last-known}"
"""The braces keep all keys in one slot of a Redis that is a cluster."""
ANSWERS, AGES, BYTES = (f"{_PREFIX}:{name}" for name in ("answers", "ages", "bytes"))
"""Packed answers by name; when each was asked for; how many bytes they are. A name begins with the account and a colon."""
AWAY = f"{_PREFIX}:away"
"""Since when the database is missed."""
OF_ACCOUNT = f"{_PREFIX}:of:"
"""With the account: its names, by age."""
EVERYBODY, SCOPED = "everybody", "scoped"
"""Whose answers may be told to go at once: all, and those of accounts that see some clusters."""

_DROP = """
local function drop(name)
  redis.call('DECRBY', KEYS[3], redis.call('HSTRLEN', KEYS[1], name))
  redis.call('HDEL', KEYS[1], name)
  redis.call('ZREM', KEYS[2], name)
  redis.call('ZREM', ARGV[1] .. string.match(name, '^[^:]*'), name)
end
"""
KEEP = f"""{_DROP}
local account, name, packed, asked_at, kept_s = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local own = ARGV[1] .. account
drop(name)
redis.call('HSET', KEYS[1], name, packed)
redis.call('ZADD', KEYS[2], asked_at, name)
redis.call('ZADD', own, asked_at, name)
redis.call('INCRBY', KEYS[3], #packed)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', asked_at - kept_s, 'LIMIT', 0, 100)) do drop(old) end
while redis.call('ZCARD', own) > tonumber(ARGV[7]) do drop(redis.call('ZRANGE', own, 0, 0)[1]) end
while tonumber(redis.call('GET', KEYS[3])) > tonumber(ARGV[8]) do drop(redis.call('ZRANGE', KEYS[2], 0, 0)[1]) end
for _, key in ipairs({{KEYS[1], KEYS[2], KEYS[3], own}}) do redis.call('EXPIRE', key, kept_s) end
redis.call('SET', KEYS[4], ARGV[9], 'EX', kept_s)
redis.call('DEL', KEYS[5])
return 1
"""
FORGET = f"""{_DROP}
redis.call('SET', KEYS[4], ARGV[3], 'EX', ARGV[4])
for _, name in ipairs(redis.call('ZRANGE', ARGV[1] .. ARGV[2], 0, -1)) do drop(name) end
if ARGV[2] == '{EVERYBODY}' then redis.call('DEL', KEYS[1], KEYS[2], KEYS[3]) end
return 1
"""


def is_on() -> bool:
    return bool(settings.WEIR.last_known_h) and settings.CACHES["default"]["BACKEND"] == CACHE


def kept_s() -> int:
    return int(settings.WEIR.last_known_h) * 3600


def session_key(session: str) -> str:
    """Where it stands whose session this is."""
    return f"{_PREFIX}:of-session:{session}"


def gone_key(who: str) -> str:
    """Where the instant stands until which nothing is to be shown to an account, a session, everybody or whoever is scoped."""
    return f"{_PREFIX}:gone:{who}"


def asked(question: "Callable[[Redis], Any]") -> Any:
    """What Redis says; ``None`` without it."""
    if not is_on() or not breaker.redis.allows():
        return None
    from redis.exceptions import RedisError  # where it is needed only: commands hear of changes, too, and load no Redis

    try:
        with breaker.redis.watching():
            return question(caches["default"].client())  # type: ignore[attr-defined]  # is_on looked
    except (RedisError, OSError):
        return None
