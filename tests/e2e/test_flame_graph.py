"""The flame graph of a late source in a real browser: asked for on the page of its finding, then
seen there.
"""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.payloads.flame_graph import flame_graph
from ingest.sources import WantedFlameGraph
from tests.flame_graphs import graphs, own_methods
from tests.selections import mostly_long
from tests.webapp.builders import finding
from webapp.fleet.models import JobCurrent
from webapp.profiles.flame_graph_requests import keep, want

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

SOURCE, SINK = "v1", "v4"
BODY = graphs("1.20.5")[0]["body"]


@pytest.fixture
def of(site):
    return JobCurrent.objects.get(name="clickstream")


@pytest.fixture
def address(site, of):
    source = {"vertex_id": SOURCE, "name": "Source: clicks", "subtask": 0, "checkpoint_id": 31}
    late = finding(
        of, "checkpoint.start_delay", timezone.now(), subject_id="late", data={"source": source}
    )
    return f"{site}/findings/{late.pk}/"


def sampled(of, vertex, body):
    now = timezone.now()
    want(of.cluster, of.job_id, vertex, now)
    keep(
        of.cluster,
        [FlameGraphAnswer(WantedFlameGraph(of.job_id, vertex), now, None, flame_graph(body))],
    )


def test_it_is_asked_for_on_the_page_of_the_finding_and_seen_there(page, of, address, complaints):
    page.goto(address)
    page.get_by_role("button", name="Ask Flink for its flame graph").click()
    expect(page.locator(".flame-words")).to_have_text(
        "A flame graph was requested; the next collect cycle asks Flink for it."
    )
    sampled(of, SOURCE, BODY)
    page.goto(address)
    [(method, samples)] = own_methods(BODY).most_common(1)
    expect(page.locator(".flame-words")).to_contain_text(
        f"{samples} % of {BODY['data']['value']} samples are in {method}"
    )
    picture = page.get_by_role("img", name="Flame graph: ")
    expect(picture.locator(".own").first).to_contain_text("◆ IncidentJob$Throttle.map")
    # Every sample has the same stack.
    whole = picture.bounding_box()["width"]
    assert all(
        box.bounding_box()["width"] == pytest.approx(whole, abs=2)
        for box in picture.locator("rect").all()
    )
    assert complaints == []


@pytest.mark.parametrize("theme", mostly_long(["dark", "light"]))
def test_boxes_are_as_wide_as_their_samples_and_readable_in_both_themes(page, of, address, theme):
    sampled(of, SINK, graphs("1.20.5")[2]["body"])
    page.emulate_media(color_scheme=theme)
    page.goto(f"{address.partition('/findings')[0]}/jobs/{of.cluster}/{of.job_id}/vertices/{SINK}/")
    picture = page.get_by_role("img", name="Flame graph: ")
    parked = picture.locator("svg", has_text="TaskMailboxImpl.take").first
    share = parked.bounding_box()["width"] / picture.bounding_box()["width"]
    assert share == pytest.approx(196 / 200, abs=0.01)
    colours = parked.evaluate(
        "one => [getComputedStyle(one.querySelector('rect')).fill, "
        "getComputedStyle(one.querySelector('text')).fill]"
    )
    assert contrast(*colours) > 4.5


@pytest.mark.parametrize("width", mostly_long([390, 1440]))
def test_it_fits_the_screen(page, of, address, width):
    sampled(of, SOURCE, BODY)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(address)
    page.get_by_text("As a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def contrast(one, other):
    """Of two colours of CSS, as WCAG reckons it."""
    lights = sorted(map(luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
