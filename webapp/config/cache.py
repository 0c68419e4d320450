"""A Redis cache that may fail: without its server every look-up is a miss."""

from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from webapp.config import breaker


class ForgivingRedisCache(RedisCache):
    """Look-ups miss and writes do nothing while Redis is away or slow, so that pages are slower and
    never broken.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        once = {"retry": Retry(NoBackoff(), 0)}
        super().__init__(server, {**params, "OPTIONS": {**once, **params.get("OPTIONS", {})}})

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _forgiven(super().get, default, key, default, version)

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        _forgiven(super().set, None, key, value, *args, **kwargs)

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        return bool(_forgiven(super().add, True, key, value, *args, **kwargs))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        return int(_forgiven(super().incr, 0, key, delta, version))

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(_forgiven(super().delete, False, key, version))


def _forgiven(call: Callable[..., Any], otherwise: Any, *args: Any, **kwargs: Any) -> Any:
    if not breaker.redis.allows():
        return otherwise
    try:
        with breaker.redis.watching():
            return call(*args, **kwargs)
    except (RedisError, OSError):
        return otherwise
