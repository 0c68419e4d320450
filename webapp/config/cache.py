from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from webapp.config import breaker


class ForgivingRedisCache(RedisCache):
    """While Redis is away or slow, look-ups miss and writes do nothing: pages are slower but work."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        no_retry = {"retry": Retry(NoBackoff(), 0)}
        super().__init__(server, {**params, "OPTIONS": {**no_retry, **params.get("OPTIONS", {})}})

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _call(super().get, default, key, default, version)

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        _call(super().set, None, key, value, *args, **kwargs)

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        return bool(_call(super().add, True, key, value, *args, **kwargs))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        return int(_call(super().incr, 0, key, delta, version))

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(_call(super().delete, False, key, version))


def _call(function: Callable[..., Any], fallback: Any, *args: Any, **kwargs: Any) -> Any:
    if not breaker.redis.allows():
        return fallback
    try:
        with breaker.redis.watching():
            return function(*args, **kwargs)
    except (RedisError, OSError):
        return fallback
