"""A cache server that is away makes pages slower, not broken."""

from pathlib import Path

from webapp.config.cache import ForgivingRedisCache


def test_without_its_server_every_look_up_is_a_miss(tmp_path: Path) -> None:
    cache = ForgivingRedisCache(
        f"unix://{tmp_path}/nobody.sock", {"OPTIONS": {"socket_connect_timeout": 1}}
    )
    cache.set("key", "value", 10)
    assert cache.get("key", "default") == "default"
    assert cache.add("key", "value") is True
    assert cache.delete("key") is False
