"""Secrets at rest: encrypted by the first key, readable by all, rotated by command."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError

from webapp.config import encryption
from webapp.config.secrets import new_field_key
from webapp.fleet.models import Cluster

OLD, NEW = new_field_key(), new_field_key()


def use(settings: Any, *keys: str) -> None:
    settings.WEIR = replace(settings.WEIR, field_keys=keys)


def test_an_old_key_still_decrypts_and_a_missing_one_is_said(settings: Any) -> None:
    use(settings, OLD)
    token = encryption.encrypt("s3cret")
    use(settings, NEW, OLD)
    assert encryption.decrypt(token) == "s3cret"
    use(settings, NEW)
    with pytest.raises(ImproperlyConfigured, match="WEIR_FIELD_KEYS"):
        encryption.decrypt(token)


@pytest.mark.django_db
def test_rotation_brings_every_secret_under_the_first_key(settings: Any) -> None:
    use(settings, OLD)
    cluster = Cluster(name="c", url="http://h:8081", auth_scheme="bearer")
    cluster.set_secret("s3cret")
    cluster.save()
    use(settings, NEW, OLD)
    call_command("reencrypt_secrets", stdout=StringIO())
    use(settings, NEW)
    source = Cluster.objects.get().source()
    assert source.auth is not None
    assert source.auth.secret == "s3cret"
    use(settings, OLD)
    with pytest.raises(CommandError, match="No key fits the secrets of c"):
        call_command("reencrypt_secrets", stdout=StringIO())
