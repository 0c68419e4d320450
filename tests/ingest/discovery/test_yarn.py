"""Applications as Hadoop documents the answer of a ResourceManager; no real one has been asked."""

import asyncio
import json

import pytest

from ingest.discovery.reading import _read_all
from ingest.discovery.sources import DiscoverySource
from ingest.discovery.yarn import APPLICATIONS, applications
from ingest.errors import Skipped
from tests.ingest.flink_rest.serving import Server, told

# The fields that Hadoop 3 documents of an application, of which some are left out here.
APPLICATION = {
    "id": "application_1476912658570_0002",
    "user": "flink",
    "name": ("orders pipeline"),
    "queue": "root.streaming",
    "state": "RUNNING",
    "finalStatus": "UNDEFINED",
    "progress": 100,
    "trackingUI": "ApplicationMaster",
    "diagnostics": "",
    "clusterId": 1476912658570,
    "trackingUrl": "http://rm.example.org:8088/proxy/application_1476912658570_0002/",
    "applicationType": ("Apache Flink"),
    "applicationTags": "team-a",
    "startedTime": 1476913457320,
    "finishedTime": 0,
    "amHostHttpAddress": "host:8042",
    "amRPCAddress": "host:33001",
    "allocatedMB": 4096,
    "allocatedVCores": 3,
    "runningContainers": 3,
}


def read(document, **source):
    async def ask():
        async with Server(lambda path, headers: told(document)) as server:
            (listing,) = await _read_all([DiscoverySource("s", yarn=server.url, **source)])
            return listing, server.asked

    return asyncio.run(ask())


def test_running_applications_are_clusters_behind_the_proxy():
    listing, asked = read(
        {"apps": {"app": [APPLICATION]}},
        labels={"queue": "{__meta_yarn_queue}", "team": "{__meta_yarn_tags}"},
    )
    (found,) = listing.clusters
    assert asked == [APPLICATIONS]
    assert (found.name, found.url) == (
        "orders-pipeline",
        "http://rm.example.org:8088/proxy/application_1476912658570_0002",
    )
    assert found.labels == {"queue": "root.streaming", "team": "team-a"}


def test_two_of_one_name_are_told_apart_by_what_the_source_says():
    other = APPLICATION | {
        "id": "application_1_3",
        "queue": "b",
        "trackingUrl": "http://rm.example.org:8088/proxy/application_1_3/",
    }
    document = {"apps": {"app": [APPLICATION, other]}}
    assert (
        len(read(document)[0].clusters) == 1
        and "already has the name orders-pipeline" in read(document)[0].refused[0].why
    )
    assert len(read(document, cluster="{__meta_yarn_queue}-{cluster}")[0].clusters) == 2


def test_none_that_runs_is_an_empty_list_and_no_error():
    assert (
        read({"apps": None})[0].error
        == ""
        == read({"apps": {"app": [APPLICATION | {"state": "FINISHED"}]}})[0].error
    )


def test_where_an_application_says_it_is_elsewhere_it_is_refused():
    (refused,) = read(
        {"apps": {"app": [APPLICATION | {"trackingUrl": "http://169.254.169.254/latest"}]}}
    )[0].refused
    assert "never asks" in refused.why


@pytest.mark.parametrize(
    "document",
    [[], "x", 1, {"apps": []}, {"apps": {"app": 1}}, {"apps": {"app": ["x"]}}, {"apps": {}}],
)
def test_what_no_resourcemanager_answers_is_refused(document):
    with pytest.raises(Skipped):
        applications(document)
    assert "could not be read" in read(document)[0].error


def test_a_text_of_an_application_that_makes_no_address_is_refused_alone():
    strange = [APPLICATION | {"trackingUrl": url} for url in ("N/A", "http://[", "//x y", 7)]
    listing, _asked = read({"apps": {"app": [*strange, APPLICATION]}})
    assert (
        len(listing.clusters) == 1
        and len(listing.refused) == 4
        and json.dumps([one.why for one in listing.refused])
    )
