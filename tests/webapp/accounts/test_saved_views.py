"""Saved views: what a list was narrowed to, under a name, for one person or for those who see the
same clusters.
"""

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.builders import job, person
from webapp.accounts.models import ApiToken, AuditEntry, SavedView, User
from webapp.accounts.saved_views import rows
from webapp.lib import grants

pytestmark = pytest.mark.django_db
FAILING = "status=failing&sort=-duration&from=now-6h&to=now"


def somebody(name: str, sees: str | None = None) -> User:
    user = person(name)
    user.sees = None if sees is None else grants.as_json(grants.parse(sees))
    user.save()
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def machine(user: User, scope: str = "write", sees: str | None = None) -> APIClient:
    client, narrowed = APIClient(), None if sees is None else grants.as_json(grants.parse(sees))
    client.credentials(
        HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(user, 't', scope, sees=narrowed)[1]}"
    )
    return client


def menu(client: Client, page: str = "fleet") -> str:
    return client.get("/saved-views/menu", {"page": page, "query": FAILING}).content.decode()


def test_a_list_is_saved_with_filters_order_and_range_and_opened_from_its_menu_and_the_palette() -> (
    None
):
    viewer = browser(somebody("vera"))
    answer = viewer.post(
        "/saved-views/save/",
        {"page": "fleet", "name": " Failing  payments ", "query": f"?{FAILING}&q=&cursor=abc"},
    )
    assert answer.status_code == 302 and answer["Location"] == f"/?{FAILING}"
    assert viewer.get(answer["Location"]).status_code == 200
    address = f'href="/?{FAILING.replace("&", "&amp;")}"'
    assert address in menu(viewer) and "Failing payments" in menu(viewer)
    assert address not in menu(viewer, "findings")
    assert address in viewer.get("/find/", {"q": "payments failing"}).content.decode()
    assert address in viewer.get("/saved-views/").content.decode()


@pytest.mark.parametrize(
    "page",
    ["/", "/findings/", "/incidents/", "/alerts/", "/storage/", "/hosts/", "/growth/", "/reports/"],
)
def test_list_pages_have_the_menu_and_ask_nothing_for_it_until_it_is_opened(page: str) -> None:
    viewer = browser(somebody("vera"))
    assert 'hx-get="/saved-views/menu?page=' in viewer.get(page).content.decode()


def test_a_page_that_is_no_list_has_no_menu() -> None:
    job(at=timezone.now(), job_id="a" * 32)
    viewer = browser(somebody("vera"))
    for page in (f"/jobs/prod-eu/{'a' * 32}/", "/account/", "/nothing"):
        assert "/saved-views/menu" not in viewer.get(page).content.decode()


def test_the_same_name_on_the_same_page_is_replaced_and_another_may_not_take_it() -> None:
    vera = somebody("vera")
    first = rows.save(vera, "fleet", "mine", "q=a", is_shared=False)
    assert rows.save(vera, "fleet", "mine", "q=b", is_shared=False).pk == first.pk
    other = rows.save(vera, "fleet", "other", "", is_shared=False)
    rows.save(vera, "findings", "mine", "", is_shared=False)
    page = (
        browser(vera)
        .post(f"/saved-views/{other.pk}/change/", {"name": "mine"}, follow=True)
        .content.decode()
    )
    assert "You have a view called mine of this page already." in page
    assert set(SavedView.objects.values_list("page", "name", "query")) == {
        ("fleet", "mine", "q=b"), ("fleet", "other", ""), ("findings", "mine", ""),
    }  # fmt: skip


def test_a_view_is_renamed_shared_and_removed_by_its_owner_alone() -> None:
    vera, ulf = somebody("vera"), somebody("ulf")
    view = rows.save(vera, "fleet", "mine", "q=a", is_shared=True)
    for path, entered in (
        (f"/saved-views/{view.pk}/change/", {"name": "taken"}),
        (f"/saved-views/{view.pk}/remove/", {}),
    ):
        assert browser(ulf).post(path, entered).status_code == 404
    browser(vera).post(f"/saved-views/{view.pk}/change/", {"name": "ours"})
    view.refresh_from_db()
    view_pk = view.pk
    assert (view.name, view.is_shared) == ("ours", False)
    browser(vera).post(f"/saved-views/{view.pk}/remove/")
    assert not SavedView.objects.exists()
    done = (
        AuditEntry.objects.filter(outcome="done")
        .order_by("pk")
        .values_list("action", "person", "subject")
    )
    told = [
        ("saved-view.change", "vera", f"mine (#{view_pk})"),
        ("saved-view.remove", "vera", f"ours (#{view_pk})"),
    ]
    assert list(done) == told


@pytest.mark.parametrize(
    ("reader", "is_seen"),
    [
        (None, True),
        ('team="payments"', True),
        ('team="ads"', False),
        ('team="payments"\nteam="ads"', False),
        ("", False),
    ],
)
def test_a_shared_view_is_seen_by_who_sees_the_same_clusters_or_all(
    reader: str | None, is_seen: bool
) -> None:
    rows.save(
        somebody("owner", 'team="payments"'),
        "fleet",
        "secret-cluster",
        "cluster=secret-cluster",
        is_shared=True,
    )
    other = somebody("reader", reader)
    doors = (
        menu(browser(other)),
        *(
            browser(other).get(path).content.decode()
            for path in ("/saved-views/", "/find/?q=secret-clust")
        ),
    )
    for page in doors:
        assert ("cluster=secret-cluster" in page) is is_seen
    assert bool(machine(other, "read").get("/api/v1/saved-views/").json()["results"]) is is_seen


def test_what_is_not_shared_or_of_somebody_who_left_is_not_seen() -> None:
    gone = somebody("gone")
    rows.save(gone, "fleet", "left behind", "", is_shared=True)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    rows.save(somebody("vera"), "fleet", "private", "", is_shared=False)
    shown = menu(browser(somebody("ulf")))
    assert "left behind" not in shown and "private" not in shown


@pytest.mark.parametrize(
    ("entered", "field"),
    [
        ({"page": "pipeline"}, "page"),
        ({"name": ""}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"query": "q=" + "x" * 2_000}, "query"),
        ({"query": "q=%00"}, "query"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_the_field(
    entered: dict[str, str], field: str
) -> None:
    vera = somebody("vera")
    given = {"page": "fleet", "name": "mine", "query": "", **entered}
    answer = machine(vera).post("/api/v1/saved-views/", given, format="json")
    assert answer.status_code == 400 and list(answer.json()["error"]["fields"]) == [field]
    assert browser(vera).post("/saved-views/save/", given, follow=True).status_code == 200
    assert not SavedView.objects.exists()


def test_a_person_has_at_most_fifty() -> None:
    vera = somebody("vera")
    for number in range(rows.MOST_VIEWS):
        rows.save(vera, "fleet", f"view {number}", "", is_shared=False)
    page = (
        browser(vera)
        .post("/saved-views/save/", {"page": "fleet", "name": "one more", "query": ""}, follow=True)
        .content.decode()
    )
    assert (
        "You have 50 saved views; remove one first." in page
        and SavedView.objects.count() == rows.MOST_VIEWS
    )
    rows.save(vera, "fleet", "view 7", "q=again", is_shared=False)


def test_the_api_saves_changes_and_removes_and_tokens_that_may_not_are_refused() -> None:
    vera = somebody("vera")
    made = (
        machine(vera)
        .post(
            "/api/v1/saved-views/",
            {"page": "findings", "name": "n", "query": "state=any"},
            format="json",
        )
        .json()
    )
    assert made["address"] == "/findings/?state=any" and made["owner"] == "vera"
    at = f"/api/v1/saved-views/{made['id']}/"
    for refused in (machine(vera, "read"), machine(vera, sees='team="payments"')):
        assert refused.put(at, {"name": "m", "is_shared": True}, format="json").status_code == 403
    assert (
        machine(vera, "read", sees='team="payments"').get("/api/v1/saved-views/").json()["results"]
        == []
    )
    assert (
        machine(vera).put(at, {"name": "m", "is_shared": True}, format="json").json()["name"] == "m"
    )
    assert [
        one["name"]
        for one in machine(somebody("ulf"), "read")
        .get("/api/v1/saved-views/?page=findings")
        .json()["results"]
    ] == ["m"]
    assert machine(vera).delete(at).status_code == 204 and not SavedView.objects.exists()


def test_a_form_of_another_site_saves_nothing() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(somebody("vera"))
    assert client.post("/saved-views/save/", {"page": "fleet", "name": "mine"}).status_code == 403
    assert not SavedView.objects.exists()
