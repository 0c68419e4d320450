from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts import people
from webapp.accounts.guards import administrators_only
from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import GROUPS
from webapp.accounts.users.filters import CLOSED, OPEN, PeopleFilters
from webapp.accounts.users.forms import AccessForm, NewPersonForm
from webapp.accounts.viewers import me
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.refusals import ActionRefused, InputRefused, refusal_as_message

PEOPLE_A_PAGE = 50


@administrators_only
@require_GET
def users(request: HttpRequest) -> HttpResponse:
    return _list(request, NewPersonForm())


@administrators_only
@require_POST
@never_cache
def add(request: HttpRequest) -> HttpResponse:
    form = NewPersonForm(request.POST)
    if form.is_valid():
        try:
            user, password = people.add(form.cleaned_data["username"], **form.entered())
        except InputRefused as refused:
            _add_errors(form, refused)
        else:
            return render(
                request, "accounts/password_made.html", {"person": user, "password": password}
            )
    return _list(request, form)


@administrators_only
@require_GET
def user(request: HttpRequest, pk: int) -> HttpResponse:
    person = _person(pk)
    return _page(request, person, _filled_form(person))


@administrators_only
@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    person, form = _person(pk), AccessForm(request.POST)
    if form.is_valid():
        try:
            people.change(me(request), person, **form.entered())
        except InputRefused as refused:
            _add_errors(form, refused)
            return _page(request, person, form)
        except ActionRefused as refused:
            messages.error(request, str(refused))
        return redirect("access-user", pk)
    return _page(request, person, form)


@administrators_only
@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    user = _person(pk)
    with refusal_as_message(request):
        if "enable" in request.POST:
            people.reopen(me(request), user)
        else:
            people.close(me(request), user)
    return redirect("access-user", pk)


@administrators_only
@require_POST
@never_cache
def reset_password(request: HttpRequest, pk: int) -> HttpResponse:
    user = _person(pk)
    try:
        password = people.new_password(me(request), user)
    except ActionRefused as refused:
        messages.error(request, str(refused))
        return redirect("access-user", pk)
    return render(
        request,
        "accounts/password_made.html",
        {"person": user, "password": password, "had_another": True},
    )


@administrators_only
@require_POST
def end_sessions(request: HttpRequest, pk: int) -> HttpResponse:
    user = _person(pk)
    with refusal_as_message(request):
        people.sign_out(me(request), user)
        messages.success(
            request,
            gettext("%(username)s is signed out everywhere; tokens still work.")
            % {"username": user.username},
        )
    return redirect("access-user", pk)


@administrators_only
@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    user = _person(pk)
    with refusal_as_message(request):
        people.remove(me(request), user)
    return redirect("access-user", pk) if user.pk else redirect("access-users")


@administrators_only
@require_POST
def revoke_token(request: HttpRequest, pk: int, token: int) -> HttpResponse:
    api_token = get_object_or_404(ApiToken, pk=token, user_id=pk)
    with refusal_as_message(request):
        people.revoke(me(request), api_token)
    return redirect("access-user", pk)


def _list(request: HttpRequest, form: NewPersonForm) -> HttpResponse:
    filters = PeopleFilters.from_page(request.GET, User.objects.prefetch_related("groups"))
    listed = page(filters.qs, filters.order, request.GET.get("cursor", ""), PEOPLE_A_PAGE)
    context = {
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control("q", "User name"),
            Control("role", "Role", [("", "Any role"), *((name, name) for name in GROUPS)]),
            Control(
                "state",
                "State",
                [("", "Open and closed"), (OPEN, gettext("open")), (CLOSED, gettext("closed"))],
            ),
        ),
        "page": listed,
        "matching": capped_count(filters.qs),
        "form": form,
    }
    return render(request, "accounts/users.html", context)


def _page(request: HttpRequest, person: User, form: AccessForm) -> HttpResponse:
    context = {
        "person": person,
        "form": form,
        "tokens": ApiToken.objects.filter(user=person),
        "sees_by_provider": bool(settings.WEIR.oidc_sees),
        "why_not": people.why_not(me(request), person),
    }
    return render(request, "accounts/user.html", context)


def _person(pk: int) -> User:
    return get_object_or_404(User, pk=pk)


def _filled_form(person: User) -> AccessForm:
    sees = people.EVERYTHING if person.grants is None else people.ONLY
    return AccessForm(
        initial={
            "role": person.role.group,
            "sees": sees,
            "sees_only": "\n".join(person.grants or ()),
        }
    )


def _add_errors(form: Any, refused: InputRefused) -> None:
    for field, text in (refused.fields or {"": str(refused)}).items():
        form.add_error(field if field in form.fields else None, text)
