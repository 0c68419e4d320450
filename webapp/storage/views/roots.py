from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from webapp.accounts.guards import operators_only
from webapp.fleet.models import Cluster
from webapp.storage.auditing import work_keys
from webapp.storage.forms import StorageRootForm
from webapp.storage.models import StorageRoot
from webapp.storage.readers import known_readers
from webapp.storage.registration import attest as attest_root
from webapp.storage.registration import save, withdraw


@operators_only
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    initial = {name: request.GET[name][:1000] for name in ("uri", "kind") if name in request.GET}
    clusters = Cluster.objects.filter(name__in=request.GET.getlist("clusters")[:200])
    form = StorageRootForm(request.POST or None, initial={**initial, "clusters": clusters})
    if request.method == "POST" and _save(form):
        messages.success(
            request,
            gettext("%(uri)s is added; an audit starts within a minute.")
            % {"uri": form.instance.uri},
        )
        work_keys.audit_now(timezone.now())
        return redirect(_page(form.instance))
    return render(request, "storage/root_form.html", {"form": form, "root": None})


@operators_only
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    root = get_object_or_404(StorageRoot, pk=pk)
    form = StorageRootForm(request.POST or None, instance=root)
    if request.method == "POST" and _save(form):
        messages.success(
            request, gettext("%(uri)s is saved; the next audit uses it.") % {"uri": root.uri}
        )
        return redirect(_page(root))
    return render(request, "storage/root_form.html", {"form": form, "root": root})


@operators_only
@require_http_methods(["GET", "POST"])
def attest(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the known readers of a root, then records or withdraws the attestation."""
    root = get_object_or_404(StorageRoot, pk=pk)
    if request.method == "GET" or not {"confirmed", "withdraw"} & set(request.POST):
        return render(
            request,
            "storage/attest.html",
            {"root": root, "readers": known_readers(root, timezone.now())},
        )
    if "withdraw" in request.POST:
        withdraw(root)
        messages.success(
            request, gettext("The attestation is withdrawn: nothing below this root is cleaned.")
        )
    else:
        # operators only: signed in
        attest_root(root, request.user.get_username(), request.user)  # type: ignore[arg-type]
        messages.success(
            request,
            gettext("Your attestation is noted with your name; it counts from the next audit on."),
        )
    return redirect(_page(root))


@operators_only
@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    root = get_object_or_404(StorageRoot, pk=pk)
    root.delete()
    messages.success(
        request,
        gettext("%(uri)s is no longer audited. Audit results stay for their retention time.")
        % {"uri": root.uri},
    )
    return redirect("storage")


@operators_only
@require_POST
def audit_now(request: HttpRequest) -> HttpResponse:
    if work_keys.audit_now(timezone.now()):
        messages.success(
            request, gettext("An audit of all registered roots starts within a minute.")
        )
    else:
        messages.warning(request, gettext("No root is registered, or all are paused."))
    return redirect("storage")


def _save(form: StorageRootForm) -> bool:
    if not form.is_valid():
        return False
    try:
        save(form.instance, form.cleaned_data["clusters"])
    except ValidationError as error:
        form.add_error(None, error)
        return False
    return True


def _page(root: StorageRoot) -> str:
    return reverse("storage-root", query={"uri": root.uri})
