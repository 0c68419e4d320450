import json
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from tests.lab.dying_pods import OUT_OF_MEMORY, DyingPods
from webapp.launch.home import free_port

POD = {"metadata": {"name": "orders-taskmanager-1-1"}, "spec": {"containers": [{"name": "main"}]}}


def asked(pods):
    url = f"http://127.0.0.1:{pods.port}/api/v1/namespaces/default/pods"
    return urllib.request.Request(url, data=json.dumps(POD).encode(), method="POST")


def test_a_pod_runs_and_ends_as_told_also_for_who_watches_later():
    with closing(DyingPods(free_port(), OUT_OF_MEMORY, is_scheduled=True, lives_s=0.4)) as pods:
        urllib.request.urlopen(asked(pods)).close()
        with urllib.request.urlopen(f"{asked(pods).full_url}?watch=true", timeout=10) as watch:
            told = [json.loads(watch.readline()) for _ in range(3)]
    assert [one["type"] for one in told] == ["ADDED", "MODIFIED", "MODIFIED"]
    last = told[-1]["object"]["status"]
    assert last["phase"] == "Failed"
    assert last["containerStatuses"][0]["state"] == {"terminated": OUT_OF_MEMORY}


def test_a_quota_refuses_all():
    with closing(DyingPods(free_port(), None, is_scheduled=True)) as pods:
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            urllib.request.urlopen(asked(pods))
        assert b"exceeded quota" in refused.value.read()
