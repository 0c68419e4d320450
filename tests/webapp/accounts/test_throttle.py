"""Guessing passwords is slow, from one address or from many; nobody shuts out somebody else by
it.
"""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.utils import timezone

from tests.weir_settings import WeirSettings
from webapp.accounts.devices import COOKIE
from webapp.accounts.models import SignInFailures, User
from webapp.accounts.throttle import LIMITS

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
OF_ADDRESS = LIMITS["address"].allowed
OF_NAME = LIMITS["name"].allowed


@pytest.fixture(autouse=True)
def user() -> User:
    return User.objects.create_user("ann", password=PASSWORD)


@pytest.fixture
def behind_proxy(weir: WeirSettings) -> None:
    weir(behind_proxy=True)


def comes_in(
    address: str = "192.0.2.1",
    password: str = PASSWORD,
    name: str = "ann",
    client: Client | None = None,
    **headers: str,
) -> bool:
    told = {"username": name, "password": password}
    return (client or Client()).post(
        "/sign-in/", told, REMOTE_ADDR=address, headers=headers
    ).status_code == 302


def guesses(count: int, address: str = "192.0.2.1", name: str = "ann", **headers: str) -> None:
    for _ in range(count):
        assert not comes_in(address, "wrong", name, **headers)


def everywhere(number: int) -> str:
    """Addresses of networks that have nothing to do with each other."""
    return f"203.{number % 250}.{number // 250}.7"


def known(address: str = "198.51.100.9") -> Client:
    client = Client()
    assert comes_in(address, client=client)
    client.post("/sign-out/")
    return client


def test_an_address_that_guessed_ten_times_waits_even_with_the_right_password() -> None:
    guesses(OF_ADDRESS)
    assert not comes_in()


def test_nobody_shuts_out_somebody_elsewhere_by_guessing() -> None:
    guesses(3 * OF_ADDRESS)
    assert comes_in("198.51.100.9")


def test_guessing_from_many_addresses_of_a_network_is_guessing_from_one() -> None:
    for number in range(OF_ADDRESS):
        guesses(1, f"192.0.2.{number}")
    assert not comes_in("192.0.2.200")
    assert comes_in("192.0.3.200")


def test_guessing_from_many_addresses_of_a_customer_with_ipv6_is_guessing_from_one() -> None:
    for number in range(OF_ADDRESS):
        guesses(1, f"2001:db8:1:1::{number + 1:x}", f"other{number}")
    assert not comes_in("2001:db8:1:1:ffff::")
    assert comes_in("2001:db8:2:1::1")


def test_guessing_one_name_from_everywhere_is_slow() -> None:
    for number in range(OF_NAME):
        guesses(1, everywhere(number))
    assert not comes_in("198.51.100.9")
    assert OF_NAME <= 60 and LIMITS["name"].window >= timedelta(hours=1)


def test_a_browser_that_came_in_before_still_does_while_its_name_is_guessed_at_from_everywhere() -> (
    None
):
    client = known()
    for number in range(OF_NAME + 5):
        guesses(1, everywhere(number))
    assert comes_in("198.51.100.200", client=client)


def test_a_browser_that_came_in_before_still_does_from_an_address_that_is_guessed_from() -> None:
    client = known("192.0.2.1")
    guesses(2 * OF_ADDRESS)
    assert comes_in("192.0.2.1", client=client)


def test_a_browser_that_came_in_before_is_no_way_to_guess() -> None:
    client = known()
    for _ in range(OF_ADDRESS):
        assert not comes_in(password="wrong", client=client)
    for number in range(2 * OF_ADDRESS):
        comes_in(password="wrong", client=client, address=everywhere(number))
    assert not comes_in(client=client)


def test_a_browser_of_one_person_is_a_stranger_to_the_name_of_another() -> None:
    User.objects.create_user("ben", password=PASSWORD)
    client = known()
    for number in range(OF_NAME):
        guesses(1, everywhere(number), "ben")
    assert not comes_in("198.51.100.9", name="ben", client=client)


def test_a_browser_of_several_people_knows_them_all() -> None:
    User.objects.create_user("ben", password=PASSWORD)
    client = known()
    assert comes_in("198.51.100.9", name="ben", client=client)
    client.post("/sign-out/")
    for number in range(OF_NAME):
        guesses(1, everywhere(number), "ann")
        guesses(1, everywhere(number), "ben")
    assert comes_in("198.51.100.9", name="ann", client=client)


@pytest.mark.parametrize(
    "forged", ["", "x", "eyJkIjoiYSIsInUiOlsiYSJdfQ:1:x", "\x00", "é" * 50, "9" * 8_000]
)
def test_a_cookie_that_we_did_not_make_is_as_if_it_were_not_there(forged: str) -> None:
    guesses(OF_ADDRESS)
    client = Client()
    client.cookies[COOKIE] = forged
    assert not comes_in(client=client)
    assert comes_in("198.51.100.9", client=client)


def test_the_cookie_says_nothing_about_whom_it_knows_and_no_script_reads_it() -> None:
    cookie = known().cookies[COOKIE]
    assert "ann" not in cookie.value and cookie["httponly"] and cookie["samesite"] == "Lax"


def test_what_was_guessed_is_forgotten_after_a_while() -> None:
    guesses(OF_ADDRESS)
    with time_machine.travel(timezone.now() + LIMITS["address"].window + timedelta(seconds=1)):
        assert comes_in()


@pytest.mark.parametrize("told", [{"password": ""}, {}, {"password": "x", "username": ""}])
def test_a_form_that_is_not_filled_in_makes_nothing_forgotten(told: dict[str, str]) -> None:
    guesses(OF_ADDRESS)
    Client().post("/sign-in/", {"username": "ann", **told}, REMOTE_ADDR="192.0.2.1")
    assert not comes_in()


def test_a_clock_that_was_ahead_for_a_moment_shuts_nobody_out() -> None:
    guesses(OF_ADDRESS)
    SignInFailures.objects.update(window_start=timezone.now() + timedelta(days=3_650))
    assert comes_in()


def test_a_few_slips_do_not_add_up_over_a_day_of_signing_in() -> None:
    for _ in range(3 * OF_ADDRESS):
        assert comes_in()
    guesses(OF_ADDRESS - 1)
    assert comes_in()


def test_a_name_that_nobody_has_is_refused_like_one_that_somebody_has() -> None:
    for name in ("ann", "nobody"):
        SignInFailures.objects.all().delete()
        guesses(OF_ADDRESS, name=name)
    pages = []
    for name in ("ann", "nobody"):
        SignInFailures.objects.all().delete()
        answers = [
            Client().post("/sign-in/", {"username": name, "password": "x"}, REMOTE_ADDR="192.0.2.1")
            for _ in range(OF_ADDRESS + 1)
        ]
        pages.append([answer.context["form"].non_field_errors() for answer in answers])
    assert pages[0] == pages[1]


class CountingHasher(MD5PasswordHasher):
    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).hashed += 1
        return super().encode(password, salt)


def test_a_name_that_nobody_has_costs_the_same_work_as_one_that_somebody_has(settings) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    work = []
    for name in ("ann", "nobody"):
        before = CountingHasher.hashed
        guesses(1, name=name)
        work.append(CountingHasher.hashed - before)
    assert work[0] == work[1] > 0


def test_without_redis_it_counts_all_the_same(settings) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "webapp.config.cache.ForgivingRedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    guesses(OF_ADDRESS)
    assert not comes_in() and comes_in("198.51.100.9")


def test_guessing_in_another_language_and_time_zone_each_time_is_guessing_all_the_same() -> None:
    """The cache keeps them apart: what is counted in it is counted once for each of them."""
    for zone in ("UTC", "Asia/Tokyo", "Europe/Berlin", "America/Lima", "Africa/Cairo"):
        for language in ("en", "zh-hans"):
            client = Client()
            client.cookies.load({"weir_zone": zone, "weir_language": language})
            assert not comes_in(password="wrong", client=client)
    assert not comes_in()


def test_behind_a_proxy_the_client_is_whom_the_proxy_saw(behind_proxy: None) -> None:
    for number in range(OF_ADDRESS):
        guesses(1, "10.0.0.1", **{"X-Forwarded-For": f"{everywhere(number)}, 192.0.2.1"})
    assert not comes_in("10.0.0.1", **{"X-Forwarded-For": "198.51.100.1, 192.0.2.1"})
    assert comes_in("10.0.0.1", **{"X-Forwarded-For": "192.0.2.1, 198.51.100.9"})


@pytest.mark.parametrize("noted", ["192.0.2.1:4711", "::ffff:192.0.2.1", " 192.0.2.1 "])
def test_an_address_is_known_in_every_spelling_of_a_proxy(behind_proxy: None, noted: str) -> None:
    guesses(OF_ADDRESS, "10.0.0.1", **{"X-Forwarded-For": "192.0.2.1"})
    assert not comes_in("10.0.0.1", **{"X-Forwarded-For": noted})


@pytest.mark.parametrize("noted", ["", "unknown", "_hidden", "a" * 5_000, "1.2.3.4.5", "%00"])
def test_what_is_no_address_is_the_proxys_own(behind_proxy: None, noted: str) -> None:
    guesses(OF_ADDRESS, "10.0.0.1")
    assert not comes_in("10.0.0.1", **{"X-Forwarded-For": noted})


def test_without_a_proxy_what_a_client_says_of_itself_counts_for_nothing() -> None:
    for number in range(OF_ADDRESS):
        guesses(1, **{"X-Forwarded-For": everywhere(number)})
    assert not comes_in(**{"X-Forwarded-For": "198.51.100.9"})


def test_names_of_any_length_and_letters_make_small_rows() -> None:
    for name in ("x" * 5_000, "\x00", "\u202e🦄", "ANN", ""):
        guesses(1, name=name)
    assert all(len(row.subject) == 64 for row in SignInFailures.objects.all())
