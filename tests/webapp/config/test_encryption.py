"""Secrets at rest: encrypted by the first key, readable by all, rotated by command."""

from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.weir_settings import WeirSettings
from webapp.config import encryption
from webapp.config.secrets import new_field_key
from webapp.fleet.models import Cluster
from webapp.fleet.sign_ins import JOBMANAGER

OLD, NEW = new_field_key(), new_field_key()


def test_an_old_key_still_decrypts_and_a_missing_one_is_said(weir: WeirSettings) -> None:
    weir(field_keys=(OLD,))
    token = encryption.encrypt("s3cret")
    weir(field_keys=(NEW, OLD))
    assert encryption.decrypt(token) == "s3cret"
    weir(field_keys=(NEW,))
    with pytest.raises(ImproperlyConfigured, match="WEIR_FIELD_KEYS"):
        encryption.decrypt(token)


@pytest.mark.django_db
def test_rotation_brings_every_secret_under_the_first_key(weir: WeirSettings) -> None:
    weir(field_keys=(OLD,))
    cluster = Cluster(name="c", url="http://h:8081", auth_scheme="bearer")
    JOBMANAGER.store(cluster, "s3cret")
    cluster.save()
    weir(field_keys=(NEW, OLD))
    call_command("reencrypt_secrets", stdout=StringIO())
    weir(field_keys=(NEW,))
    source = Cluster.objects.get().source()
    assert source.auth is not None
    assert source.auth.secret == "s3cret"
    weir(field_keys=(OLD,))
    with pytest.raises(CommandError, match="No key fits the secrets of c"):
        call_command("reencrypt_secrets", stdout=StringIO())
