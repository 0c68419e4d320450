"""Every page in a real browser."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.e2e.stored import CHECKPOINT, ROOT
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.lib.instants import epoch_ms

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

HOST = "tm-1"
PASSWORD = "correct horse battery"
JOB = f"/jobs/prod-eu/{'c' * 32}/"
PAGES = (
    "/",
    *(f"{JOB}?tab={tab}" for tab in ("checkpoints", "pressure", "state", "runtime", "more")),
    "checkpoint 30",
    "checkpoint 31",
    "finding",
    f"{JOB}placement/",
    "/filesystem-calls/",
    f"{JOB}before-after/",
    f"{JOB}before-after/?at=now-60m",
    f"{JOB}recovery/",
    f"{JOB}starts/",
    f"{JOB}resources/",
    "/resources/",
    f"{JOB}exactly-once/",
    f"{JOB}backend/",
    f"{JOB}replication/",
    f"{JOB}threads/",
    f"{JOB}state-expiry/",
    "/findings/",
    "/alerts/",
    "/incidents/",
    "/readiness/",
    "/objectives/",
    "/clusters/prod-eu/",
    "/rules/",
    "/rules/pressure.root/",
    "/clusters/",
    "/clusters/add/",
    "/pipeline/",
    "/account/",
    "/clusters/prod-eu/pushed-logs/",
    "/hosts/",
    f"/hosts/{HOST}/",
    "/storage/",
    "/storage/roots/add",
    f"/storage/root/?uri={ROOT}",
    f"/storage/files/?uri={ROOT}",
    f"/storage/xray/?path={CHECKPOINT}",
    f"/storage/retention/?uri={ROOT}",
    f"/storage/missing-file/?path={CHECKPOINT}/_metadata",
)


def address(path):
    if path == "finding":
        return f"/findings/{Finding.objects.get(rule='pressure.root').pk}/"
    if not path.startswith("checkpoint"):
        return path
    fact = CheckpointFact.objects.get(checkpoint_id=path.split()[1])
    return f"{JOB}checkpoints/{fact.checkpoint_id}/{epoch_ms(fact.trigger_time)}/"


def all_charts_drawn(page):
    """Scroll to each, since charts load when they come into view."""
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute(
            "data-state", re.compile("drawn|empty|failed"), timeout=20_000
        )
    return [chart.get_attribute("data-state") for chart in page.locator("[data-chart]").all()]


def zoomed_in(page):
    """Drag over the middle of the first chart of time; returns the query of the page that this
    leads to.
    """
    box = page.locator("[data-axis=time] .nsewdrag").first.bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, height, steps=4)
    page.mouse.up()
    page.wait_for_url("**from=20*")
    return parse_qs(urlsplit(page.url).query)


def test_no_page_makes_the_browser_complain_ask_another_host_or_scroll_sideways(
    page, site, complaints
):
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    for path in PAGES:
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.goto(site + address(path)).status == 200
        all_charts_drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        page.set_viewport_size({"width": 768, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 768, path
    assert complaints == []
    assert hosts <= {urlsplit(site).netloc, ""}


def test_all_charts_of_a_job_are_drawn(page, site):
    page.goto(f"{site}{JOB}?tab=pressure")
    assert all_charts_drawn(page) == ["drawn"]
    assert page.locator(".heatmaplayer image").count() == 1
    expect(page.locator(".annotation-text", has_text="restart 1").first).to_be_visible()


@pytest.mark.parametrize("path", ["/filesystem-calls/"])
def test_charts_ask_once_the_tables_are_worked_out(page, site, path):
    """Both need the same, which is then cached."""
    seen = []
    page.on("request", lambda request: seen.append(("asked", urlsplit(request.url).path)))
    page.on("response", lambda answer: seen.append(("answered", urlsplit(answer.url).path)))
    page.goto(site + path)
    page.wait_for_selector("[data-chart]")
    assert all_charts_drawn(page)
    _page, document = [place for place, one in enumerate(seen) if one == ("answered", path)]
    charts = [
        place
        for place, (what, of) in enumerate(seen)
        if what == "asked" and of.endswith(".json") and of.startswith(path)
    ]
    assert charts and min(charts) > document


def test_a_click_on_a_bar_opens_its_checkpoint(page, site):
    page.goto(site + JOB)
    all_charts_drawn(page)
    box = (
        page.locator("[data-chart*=strip] .barlayer .trace")
        .first.locator(".point")
        .last.bounding_box()
    )
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/checkpoints/**", timeout=10_000)


def test_the_theme_switches_at_once_stays_and_recolours_the_charts(page, site):
    page.goto(site + JOB)
    all_charts_drawn(page)
    paper = "() => getComputedStyle(document.querySelector('.main-svg')).backgroundColor"
    before = page.evaluate(paper)
    page.click("[data-theme-toggle]")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.wait_for_timeout(500)
    assert page.evaluate(paper) != before
    page.reload()
    assert 'data-theme="dark"' in page.content()[:200]


def test_the_system_theme_counts_until_somebody_chooses(browser, site):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{site}/sign-in/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 20, 23)"
    context.close()


def test_the_search_opens_by_click_slash_and_ctrl_k(page, site):
    page.goto(site)
    for opens in ("/", "Control+k"):
        page.keyboard.press(opens)
        assert page.evaluate("document.activeElement.id") == "palette-text"
        page.keyboard.press("Escape")
    page.click("#search")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Escape")


def test_keys_typed_into_a_field_stay_there(page, site):
    page.goto(site)
    page.click("#search")
    page.keyboard.type("gc?t/")
    assert page.input_value("#palette-text") == "gc?t/"
    assert page.url == f"{site}/"


def test_on_a_telephone_the_cause_begins_right_below_who_it_is_about(page, site):
    """Below the header and what it says of Weir itself, which has 150 px where all is well."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site + JOB)
    top, cause, strip = (
        page.locator(one).first.bounding_box()["y"] for one in ("#main", ".finding", "#strip")
    )
    assert cause - top <= 150
    assert strip - top <= 844 - 150


def test_no_tab_of_a_job_is_taller_than_four_screens(page, site):
    for tab in ("checkpoints", "pressure", "state", "runtime", "more"):
        page.goto(f"{site}{JOB}?tab={tab}")
        all_charts_drawn(page)
        assert page.evaluate("document.documentElement.scrollHeight") <= 4_000, tab


def test_hostile_names_are_text(page, site):
    page.goto(f"{site}/?q=script")
    page.locator("[data-rows] a.name").first.click()
    page.wait_for_url("**/jobs/**")
    assert "pwned" not in page.title().replace("<script>document.title='pwned'</script>", "")
    expect(page.locator("h1")).to_contain_text("<script>")


def test_filters_make_links_that_show_the_same_again(page, site):
    page.goto(site)
    page.select_option("#status", "UNKNOWN")
    page.wait_for_url("**status=UNKNOWN**")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(1)
    page.goto(page.url)
    expect(page.locator("[data-rows] tbody tr")).to_have_count(1)


def test_the_range_is_kept_from_a_job_over_the_fleet_to_the_next_job(page, site):
    page.goto(site + JOB)
    page.get_by_role("link", name="24 h").click()
    page.wait_for_url("**from=now-24h**")
    page.locator("#navigation").get_by_role("link", name="Fleet").click()
    page.wait_for_url(f"{site}/?from=now-24h**")
    page.get_by_role("link", name="clickstream", exact=True).click()
    page.wait_for_url("**/jobs/**from=now-24h**")
    expect(page.get_by_role("link", name="24 h")).to_have_attribute("aria-current", "true")


def test_signing_in_opens_the_fleet_and_signing_out_closes_the_door(context, site):
    page = context.new_page()
    page.goto(f"{site}/sign-in/")
    page.fill("#id_username", "olga")
    page.fill("#id_password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(f"{site}/")
    page.locator("summary[aria-label=Account]").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    page.goto(f"{site}/clusters/")
    assert "/sign-in/?next=/clusters/" in page.url


def test_the_origin_in_the_graph_leads_over_its_subtasks_to_its_finding_by_keyboard(page, site):
    page.goto(f"{site}{JOB}?tab=pressure")
    origin = page.locator(".graph-frame:visible [data-origin] a")
    origin.focus()
    page.keyboard.press("Enter")
    page.locator("#vertex-panel").get_by_role(
        "link", name="slow-enrich back-pressures the whole job"
    ).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/findings/*/")
    expect(page.locator("h1")).to_have_text("slow-enrich back-pressures the whole job")


def test_the_cause_is_on_the_first_screen(page, site):
    page.goto(site + JOB)
    expect(
        page.get_by_role("heading", name="slow-enrich back-pressures the whole job")
    ).to_be_in_viewport()
    page.goto(site + address("checkpoint 30"))
    expect(page.get_by_text("Had not acknowledged").first).to_be_in_viewport()
    expect(page.get_by_text("Next:").first).to_be_in_viewport()


def test_advice_is_worked_out_once_it_comes_into_view(page, site):
    page.goto(site + JOB)
    page.locator("#advice").scroll_into_view_if_needed()
    expect(page.locator("#advice")).to_contain_text("Interval and time-out")


def test_a_mark_on_a_chart_leads_to_what_was_found(page, site):
    page.goto(site + JOB)
    all_charts_drawn(page)
    page.locator("[data-chart*=strip] .annotation-text", has_text="▲").first.click()
    page.wait_for_url("**/findings/*/")


def test_an_x_ray_opens_from_the_page_of_its_root(page, site):
    page.goto(f"{site}/storage/root/?uri={ROOT}")
    page.locator("#checkpoints a.name", has_text="Checkpoint 11").click()
    expect(page.get_by_text("of another job").first).to_be_visible()


def test_ctrl_k_leads_from_a_part_of_a_name_to_the_job_by_keyboard_alone(page, site, complaints):
    page.goto(f"{site}/rules/")
    page.keyboard.press("Control+k")
    page.keyboard.type("declin")
    expect(page.locator("#palette .found a").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rules/checkpoint.declined/")
    page.keyboard.press("Control+k")
    page.keyboard.type("clickstr")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{JOB}")
    assert complaints == []


def test_what_is_zoomed_in_on_becomes_the_range_of_the_page_in_place_and_back_leads_out_of_it(
    page, site, complaints
):
    page.goto(site + JOB)
    all_charts_drawn(page)
    page.evaluate("window.isTheSamePage = true")
    strip = page.locator("#strip [data-chart]")
    whole = strip.get_attribute("data-chart")
    with page.expect_response(lambda answer: "charts/strip" in answer.url) as answer:
        chosen = zoomed_in(page)
    assert parse_qs(urlsplit(answer.value.url).query).items() >= chosen.items()
    expect(page.locator("#range-from")).to_have_value(chosen["from"][0])
    expect(page.locator("#checkpoints h2")).to_contain_text(chosen["from"][0][11:16])
    with page.expect_response(lambda answer: "charts/strip" in answer.url):
        page.go_back()
    expect(strip).to_have_attribute("data-chart", whole)
    with page.expect_response(lambda answer: "charts/strip" in answer.url):
        zoomed_in(page)
    all_charts_drawn(page)  # a chart that is being drawn anew loses the double click
    page.locator("[data-axis=time] .nsewdrag").first.dblclick()
    page.wait_for_url(site + JOB)
    assert page.evaluate("window.isTheSamePage") and complaints == []


def test_local_time_moves_the_clocks_of_a_page_and_of_its_charts_and_z_moves_them_back(
    page, site, complaints
):
    """What is zoomed in on is still in UTC in the address, which others open elsewhere."""
    page.context.new_cdp_session(page).send(
        "Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"}
    )
    page.goto(site + JOB)
    all_charts_drawn(page)
    first_bar = (
        "() => new Date(document.querySelector('[data-chart*=strip]').data[0].x[0].slice(0, "
        "19).replace(' ', 'T') + 'Z') / 60_000"
    )
    in_utc = page.evaluate(first_bar)
    page.locator("#footer").get_by_role("button", name="Local time").click()
    expect(page.locator("#footer")).to_contain_text("+05:30")
    all_charts_drawn(page)
    assert page.evaluate(first_bar) - in_utc == 330
    expect(page.locator("[data-chart*=strip] .xtitle")).to_have_text("+05:30")
    chosen = zoomed_in(page)
    assert chosen["from"][0] < chosen["to"][0] <= f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"
    expect(page.locator("#range-from")).to_have_value(re.compile(r"\+05:30$"))
    page.locator("#footer").get_by_role("button", name="UTC").click()
    expect(page.locator("#footer")).not_to_contain_text("+05:30")
    assert complaints == []


def test_the_time_range_is_there_where_it_means_something(page, site):
    for path, is_there in (
        (JOB, True),
        ("/findings/", True),
        ("/hosts/", True),
        ("/clusters/", False),
        ("/rules/", False),
        ("/", True),
    ):
        page.goto(f"{site}{path}?from=now-24h&to=now")
        assert (page.locator(".range").count() == 1) == is_there


def test_a_click_on_a_vertex_of_the_graph_opens_its_subtasks_which_refresh_in_place(
    page, site, complaints
):
    page.goto(f"{site}{JOB}?tab=pressure")
    page.locator("svg.graph a[href*='/vertices/v2/']").first.click()
    panel = page.locator("#vertex-panel .vertex-subtasks")
    expect(panel).to_be_visible()
    with page.expect_response("**/vertices/v2/subtasks?**"):
        page.evaluate("document.dispatchEvent(new CustomEvent('weir:refresh'))")
    expect(panel).to_be_visible()
    assert page.url == f"{site}{JOB}?tab=pressure" and complaints == []
