"""A Redis cache that is only ever a help: without its server every look-up is a miss."""

import logging
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


class ForgivingRedisCache(RedisCache):
    """``get`` misses and writes do nothing while Redis is away, so that pages are slower and never broken."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            return super().get(key, default, version)
        except (RedisError, OSError):
            return default

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().set(key, value, *args, **kwargs)
        except (RedisError, OSError):
            logger.warning("The cache server is away; pages are served without it.")

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        try:
            return bool(super().add(key, value, *args, **kwargs))
        except (RedisError, OSError):
            return True

    def delete(self, key: str, version: int | None = None) -> bool:
        try:
            return bool(super().delete(key, version))
        except (RedisError, OSError):
            return False
