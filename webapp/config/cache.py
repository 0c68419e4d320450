"""A Redis cache that may fail: without its server every look-up is a miss."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from webapp.config import breaker

Result = TypeVar("Result")


class ForgivingRedisCache(RedisCache):
    """Look-ups miss and writes do nothing while Redis is away or slow, so that pages are slower and
    never broken.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        once = {"retry": Retry(NoBackoff(), 0)}
        super().__init__(server, {**params, "OPTIONS": {**once, **params.get("OPTIONS", {})}})

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _without_failing(
            lambda: super(ForgivingRedisCache, self).get(key, default, version), default
        )

    def get_many(self, keys: Iterable[str], version: int | None = None) -> dict[str, Any]:
        return _without_failing(
            lambda: super(ForgivingRedisCache, self).get_many(keys, version), {}
        )

    def has_key(self, key: str, version: int | None = None) -> bool:
        return _without_failing(
            lambda: super(ForgivingRedisCache, self).has_key(key, version), False
        )

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        _without_failing(
            lambda: super(ForgivingRedisCache, self).set(key, value, *args, **kwargs), None
        )

    def set_many(self, data: dict[str, Any], *args: Any, **kwargs: Any) -> list[str]:
        return _without_failing(
            lambda: super(ForgivingRedisCache, self).set_many(data, *args, **kwargs), list(data)
        )

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        return _without_failing(
            lambda: bool(super(ForgivingRedisCache, self).add(key, value, *args, **kwargs)), True
        )

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        return _without_failing(
            lambda: int(super(ForgivingRedisCache, self).incr(key, delta, version)), 0
        )

    def touch(self, key: str, *args: Any, **kwargs: Any) -> bool:
        return _without_failing(
            lambda: bool(super(ForgivingRedisCache, self).touch(key, *args, **kwargs)), False
        )

    def delete(self, key: str, version: int | None = None) -> bool:
        return _without_failing(
            lambda: bool(super(ForgivingRedisCache, self).delete(key, version)), False
        )


def _without_failing(call: Callable[[], Result], otherwise: Result) -> Result:
    if not breaker.redis.allows():
        return otherwise
    try:
        with breaker.redis.watching():
            return call()
    except (RedisError, OSError):
        return otherwise
