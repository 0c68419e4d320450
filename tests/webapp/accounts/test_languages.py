"""Pages in English and in Simplified Chinese: who gets which, how it is chosen and kept, and what
stays English.
"""

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import translation

from tests.webapp.builders import person
from webapp.accounts.models import ApiToken, AuditEntry, User
from webapp.lib import page_words

pytestmark = pytest.mark.django_db
CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
PASSWORD = "correct horse battery"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", password=PASSWORD)


def text(client: Client, path: str = "/sign-in/", **headers: str) -> str:
    return client.get(path, headers=headers).content.decode()


def choose(client: Client, language: str, then: str = "/sign-in/") -> "tuple[int, str]":
    answer = client.post("/language/", {"language": language, "next": then})
    return answer.status_code, answer.headers.get("Location", "")


def test_a_browser_gets_the_first_language_that_it_asks_for_and_weir_has() -> None:
    assert "用户名" in text(Client(), **CHINESE)
    assert "User name" in text(Client(), **{"Accept-Language": "fr,en;q=0.8"})
    assert "User name" in text(Client())
    assert '<html lang="zh-hans"' in text(Client(), **CHINESE)


@pytest.mark.parametrize(
    "then", ["{}", "fleet", "//elsewhere.example/", "https://elsewhere.example/"]
)
def test_a_form_leads_back_to_a_path_of_ours_and_to_nothing_else(then: str) -> None:
    assert choose(Client(), "en", then) == (302, "/")


def test_the_choice_outweighs_what_the_browser_asks_for_and_leads_back_to_the_page() -> None:
    client = Client()
    assert choose(client, "zh-hans", "/sign-in/?next=/findings/") == (
        302,
        "/sign-in/?next=/findings/",
    )
    assert "用户名" in text(client)
    choose(client, "en")
    assert "User name" in text(client, **CHINESE)


def test_the_choice_of_a_person_comes_along_to_the_next_browser(ann: User) -> None:
    client = Client()
    client.force_login(ann)
    choose(client, "zh-hans")
    elsewhere = Client()
    elsewhere.post("/sign-in/", {"username": "ann", "password": PASSWORD})
    assert '<html lang="zh-hans"' in text(elsewhere, "/account/")
    assert AuditEntry.objects.filter(
        action="language.choose", person="ann", outcome="done"
    ).exists()


@pytest.mark.parametrize("language", ["", "fr", "zh_Hans", "../en"])
def test_a_language_that_weir_does_not_have_is_refused(language: str) -> None:
    client = Client()
    assert choose(client, language)[0] == 400
    assert "weir_language" not in client.cookies


@pytest.mark.parametrize(
    "away", ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)"]
)
def test_a_choice_leads_to_no_other_host(away: str) -> None:
    assert choose(Client(), "zh-hans", away) == (302, "/")


def test_a_choice_needs_the_token_of_a_form_and_a_post() -> None:
    assert (
        Client(enforce_csrf_checks=True).post("/language/", {"language": "zh-hans"}).status_code
        == 403
    )
    assert Client().get("/language/?language=zh-hans").status_code == 405


def test_caches_on_the_way_keep_languages_apart() -> None:
    answer = Client().get("/sign-in/", headers=CHINESE)
    assert answer.headers["Content-Language"] == "zh-hans"
    assert {"Accept-Language", "Cookie"} <= {
        one.strip() for one in answer.headers["Vary"].split(",")
    }


def test_what_is_kept_of_one_language_is_not_shown_in_another() -> None:
    cache.set("kept", "English")
    with translation.override("zh-hans"):
        assert cache.get("kept") is None
    assert cache.get("kept") == "English"


def test_the_api_and_downloads_speak_english_whatever_is_asked() -> None:
    client = Client()
    client.force_login(person("ann"))
    _, token = ApiToken.objects.issue(User.objects.get(username="ann"), "ci")
    english, chinese = ({"Authorization": f"Bearer {token}", **more} for more in ({}, CHINESE))
    for path in ("/api/v1/findings/?limit=x", "/api/v1/nothing/", "/api/v1/schema/"):
        assert text(client, path, **chinese) == text(client, path, **english)
    answer = client.get("/fleet.csv", headers=CHINESE)
    assert b"".join(answer.streaming_content) == b"".join(
        client.get("/fleet.csv").streaming_content
    )  # type: ignore[attr-defined]
    assert "Content-Language" not in answer.headers


def test_scripts_know_their_words_in_chinese_and_carry_none_in_english() -> None:
    assert 'id="words"' not in text(Client())
    assert 'id="words"' in text(Client(), **CHINESE)
    assert page_words.page_words() == {}
