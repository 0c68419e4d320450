"""Pages of clusters: their status; adding, testing, changing, pausing and removing them."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts.audit import entries
from webapp.accounts.guards import operators_only
from webapp.fleet.badges import VISIBILITY_BADGES
from webapp.fleet.choices import ClusterKind, Visibility
from webapp.fleet.connection_test import TestReport, check_connection
from webapp.fleet.filters import ClusterFilters
from webapp.fleet.forms import ClusterForm
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import SECRETS
from webapp.fleet.registration import register
from webapp.lib.badges import Badge
from webapp.lib.list_pages import Control, filter_form
from webapp.site import removal

Row = tuple[Cluster, Badge]
ROWS_SHOWN = 300


@require_GET
def clusters(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    filters = ClusterFilters.from_page(request.GET, Cluster.objects.defer("cursor", "pods"))
    rows = [(cluster, VISIBILITY_BADGES[cluster.visibility_at(now)]) for cluster in filters.qs]
    # Unseen clusters first: they are the reason to open this page.
    rows.sort(
        key=lambda row: (
            row[1].tone != "crit",
            row[0].kind != ClusterKind.LIVE,
            row[0].left_at is not None,
            row[0].name,
        )
    )
    context = {
        "filters": filters,
        "filter_form": filter_form(
            request, filters, Control("q", "Name"), Control("label", "Label, as team=payments")
        ),
        "count": len(rows),
        "unseen": _count_unseen(rows),
        "shown": ROWS_SHOWN,
        "rows": rows[:ROWS_SHOWN],
    }
    return render(request, "fleet/clusters.html", context)


@operators_only
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """``test`` in the form only tests the connection and shows the result."""
    form = ClusterForm(request.POST or None)
    report = None
    if request.method == "POST" and form.is_valid():
        cluster = form.to_cluster()
        report = check_connection(cluster)
        if "test" in request.POST:
            entries.mark_carried_out(request)
        else:
            cluster.misses = list(report.misses)
            try:
                register(cluster)
            except ValidationError as error:
                # since the form was checked, the address or the use of the name has changed
                form.add_error(None, error)
            else:
                _show_report(request, cluster, report)
                return redirect("clusters")
    return render(
        request, "fleet/cluster_form.html", {"form": form, "report": report, "cluster": None}
    )


@operators_only
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    cluster = get_object_or_404(Cluster, name=name)
    form = ClusterForm(request.POST or None, instance=cluster)
    report = None
    if request.method == "POST" and form.is_valid():
        changed_cluster = form.to_cluster()
        if "test" in request.POST:
            report = check_connection(changed_cluster)
            entries.mark_carried_out(request)
        else:
            changed_cluster.save(update_fields=[*form.Meta.fields[1:], *SECRETS])
            messages.success(
                request,
                gettext("%(name)s is saved; the next cycle uses it.") % {"name": cluster.name},
            )
            return redirect("cluster", name=name)
    return render(
        request, "fleet/cluster_form.html", {"form": form, "report": report, "cluster": cluster}
    )


@operators_only
@require_POST
def test(request: HttpRequest, name: str) -> HttpResponse:
    cluster = get_object_or_404(Cluster, name=name, kind=ClusterKind.LIVE)
    report = check_connection(cluster)
    cluster.misses = list(report.misses)
    cluster.save(update_fields=["misses"])
    _show_report(request, cluster, report)
    return redirect("clusters")


@operators_only
@require_POST
def pause(request: HttpRequest, name: str) -> HttpResponse:
    cluster = get_object_or_404(Cluster, name=name, kind=ClusterKind.LIVE)
    cluster.enabled = "resume" in request.POST
    cluster.save(update_fields=["enabled"])
    now = (
        gettext("collected again")
        if cluster.enabled
        else gettext("paused; its jobs show as unknown")
    )
    messages.success(request, gettext("%(name)s is %(now)s.") % {"name": cluster.name, "now": now})
    return redirect("clusters")


@operators_only
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a cluster after its name was typed; its data expire in database and lake."""
    cluster = get_object_or_404(Cluster, name=name)
    if settings.WEIR.sources and cluster.found_by and not cluster.left_at:
        messages.error(
            request,
            gettext(
                "%(name)s is listed by the source %(found_by)s and would come back: take it out "
                "there, or pause it."
            )
            % {"name": name, "found_by": cluster.found_by},
        )
        return redirect("clusters")
    if request.method == "POST":
        if request.POST.get("name") == cluster.name:
            removal.remove_clusters([cluster], timezone.now())
            messages.success(
                request,
                gettext(
                    "%(name)s is removed: its jobs are no longer watched, and its alerts end. "
                    "What was measured stays for its retention time."
                )
                % {"name": name},
            )
            return redirect("clusters")
        messages.error(request, gettext("Type %(name)s to remove it.") % {"name": cluster.name})
    return render(request, "fleet/cluster_remove.html", {"cluster": cluster})


@operators_only
@require_POST
def remove_demo(request: HttpRequest) -> HttpResponse:
    removed = removal.remove_demo(timezone.now())
    messages.success(
        request,
        gettext("The demo is removed: %(removed)s clusters are no longer watched.")
        % {"removed": removed}
        if removed
        else gettext("There is no demo here."),
    )
    return redirect("clusters")


def _show_report(request: HttpRequest, cluster: Cluster, report: TestReport) -> None:
    level = messages.SUCCESS if report.reachable else messages.WARNING
    messages.add_message(request, level, f"{cluster.name}: {report.sentence}")


def _count_unseen(rows: list[Row]) -> int:
    unseen = (VISIBILITY_BADGES[Visibility.UNREACHABLE], VISIBILITY_BADGES[Visibility.BROKEN])
    return sum(badge in unseen for _cluster, badge in rows)
