"""Saved views on pages: the menu that list pages have, and the page on which they are renamed,
shared and removed.
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.saved_views import rows
from webapp.accounts.saved_views.pages import PAGES
from webapp.accounts.viewers import me
from webapp.lib.refusals import refusal_as_message


@require_GET
def menu(request: HttpRequest) -> HttpResponse:
    """What the menu of a list page holds once it is opened: ``page``, and ``query`` as its address
    has it.
    """
    page = request.GET.get("page", "")
    query = request.GET.get("query", "").replace("\x00", "")[: rows.LONGEST_QUERY + 1]
    views = list(rows.seen_by(me(request)).filter(page=page)) if page in PAGES else []
    return render(
        request,
        "accounts/_saved_views.html",
        {"views": views, "page": page, "query": query, "me": request.user},
    )


@require_GET
def listed(request: HttpRequest) -> HttpResponse:
    views = [(view, PAGES.get(view.page, view.page)) for view in rows.seen_by(me(request))]
    mine = [pair for pair in views if pair[0].user_id == request.user.pk]
    shared = [pair for pair in views if pair[0].user_id != request.user.pk]
    return render(
        request,
        "accounts/saved_views.html",
        {"mine": mine, "shared": shared, "most": rows.MOST_VIEWS},
    )


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    entered, shown = request.POST, "saved-views"
    with refusal_as_message(request):
        view = rows.save(
            me(request),
            entered.get("page", ""),
            entered.get("name", ""),
            entered.get("query", ""),
            is_shared="is_shared" in entered,
        )
        messages.success(request, gettext("The view %(name)s is saved.") % {"name": view.name})
        shown = view.address
    return redirect(shown)


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    view = rows.own(me(request), pk)
    with refusal_as_message(request):
        rows.change(view, request.POST.get("name", ""), is_shared="is_shared" in request.POST)
        messages.success(request, gettext("The view %(name)s is saved.") % {"name": view.name})
    return redirect("saved-views")


@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    view = rows.own(me(request), pk)
    view.delete()
    messages.success(request, gettext("The view %(name)s is removed.") % {"name": view.name})
    return redirect("saved-views")
