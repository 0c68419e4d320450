import json
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from tests.lab.dying_pods import OUT_OF_MEMORY, DyingPods

POD = {"metadata": {"name": "orders-taskmanager-1-1"}, "spec": {"containers": [{"name": "main"}]}}
PATH = "/api/v1/namespaces/default/pods"


def create(url):
    return urllib.request.urlopen(url, data=json.dumps(POD).encode(), timeout=10)


def test_a_pod_runs_and_ends_as_asked_also_for_who_watches_later():
    with closing(DyingPods(OUT_OF_MEMORY, lives_s=0.4)) as pods:
        create(pods.url + PATH).close()
        with urllib.request.urlopen(f"{pods.url}{PATH}?watch=true", timeout=10) as watch:
            events = [json.loads(watch.readline()) for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED"]
    last = events[-1]["object"]["status"]
    assert last["phase"] == "Failed"
    assert last["containerStatuses"][0]["state"] == {"terminated": OUT_OF_MEMORY}


def test_a_quota_refuses_all():
    with closing(DyingPods(None)) as pods:
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            create(pods.url + PATH)
        assert b"exceeded quota" in refused.value.read()
