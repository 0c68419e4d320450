"""Names that a stored sentence lists, on Chinese pages: what stands between them is Chinese, and no name of them is touched."""

import re
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from ingest.messages import brief, list_text
from tests.webapp.alerting.test_recordings import imported
from webapp.alerting.choices import AlertState
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.findings.models import Finding
from webapp.incidents.models import Incident
from webapp.wording.filters import names_of
from webapp.wording.translation import translated

pytestmark = pytest.mark.django_db
TWO = "slow-enrich 反压 Source: clicks、parse"
"""As 1.20.5-B has it: a name with a space, and one without."""


@pytest.fixture
def held_back(viewer: Client) -> Client:
    """Recorded: slow-enrich holds back two vertices, and an alert says so."""
    imported("1.20.5-B")
    evaluate(timezone.now())
    viewer.post(reverse("choose-language"), {"language": "zh-hans", "next": "/"})
    return viewer


def of_origin(rows):
    return rows.get(rule="pressure.root")


def text(client: Client, address: str) -> str:
    return re.sub(r"<[^>]*>", "", client.get(address).content.decode())


def addresses() -> dict[str, str]:
    finding, alert = of_origin(Finding.objects), of_origin(Alert.objects)
    incident = Incident.objects.get(uid=alert.incident_id)
    return {
        "alerts": reverse("alerts") + "?state=any",
        "alert": reverse("alert", args=[alert.uid]),
        "findings": reverse("findings") + "?state=any",
        "finding": reverse("finding", args=[finding.pk]),
        "incidents": reverse("incidents") + "?state=any",
        "incident": reverse("incident", args=[incident.uid]),
        "job": reverse("job", args=[finding.cluster, finding.job_id]),
        "fleet": reverse("fleet"),
    }


@pytest.mark.parametrize("page", ["alerts", "alert", "findings", "finding", "incidents", "incident", "job", "fleet"])
def test_the_two_vertices_of_a_recorded_finding_are_listed_in_chinese(held_back: Client, page: str) -> None:
    shown = text(held_back, addresses()[page])
    assert TWO in shown
    assert "clicks and parse" not in shown


def test_the_page_of_an_alert_lists_who_had_not_acknowledged_in_chinese(viewer: Client) -> None:
    imported("1.20.5-F")
    evaluate(timezone.now())
    viewer.post(reverse("choose-language"), {"language": "zh-hans", "next": "/"})
    alert = Alert.objects.get(rule="checkpoint.expired")
    shown = text(viewer, reverse("alert", args=[alert.uid]))
    assert "个未确认：slow-enrich (4)、parse (2)、sink-writer -&gt; discard: Writer (2)。" in shown


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (["Join orders and payments", "parse"], "Join orders and payments、parse"),
        (["Join orders and payments"], "Join orders and payments"),
        ([f"Calc(select=[a, b AND c], where=[{'x' * 60} and y])", "parse"], f"Calc(select=[a, b AND c], where=[{'x' * 26}…、parse"),
        (["a b", "c d", "e f", "g h", "i j"], "a b、c d、e f 及另外 2 个"),
    ],
)
def test_a_name_that_has_such_a_word_itself_stays_whole(held: list[str], said: str) -> None:
    finding = SimpleNamespace(subject="sink", related=[{"subject": name} for name in held])
    with translation.override("zh-hans"):
        assert translated(f"sink back-pressures {list_text(map(brief, held))}", names_of(finding)) == f"sink 反压 {said}"


def test_names_that_are_not_known_stay_as_they_were_stored() -> None:
    with translation.override("zh-hans"):
        assert translated("sink back-pressures Source: clicks and parse") == "sink 反压 Source: clicks and parse"


def test_buttons_of_the_alert_list_name_an_alert_as_its_row_does(operator: Client) -> None:
    imported("1.20.5-B")
    evaluate(timezone.now())
    operator.post(reverse("choose-language"), {"language": "zh-hans", "next": "/"})
    Alert.objects.update(state=AlertState.FIRING, resolved_at=None)
    labels = re.findall(r'aria-label="([^"]*)"', operator.get(reverse("alerts")).content.decode())
    assert {label.removesuffix(TWO).strip() for label in labels if TWO in label} == {"选择", "认领", "静默"}
    assert not any(of_origin(Alert.objects).title in label for label in labels)
