"""Layouts of logs, as they are entered for a cluster."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
ENTERED = {
    "name": "lab",
    "auth_scheme": "",
    "time_zone": "UTC",
    "metrics_interval_s": "30",
    "verify_tls": "on",
    "logs_are_pushed": "on",
}


@pytest.mark.parametrize(
    "layout",
    ["%d %t%t%t%t%t~%m", "%p %m", "%d{ISO8601}{Mars/Olympus} %m", "%d " + "%L-" * 30 + "%m"],
)
def test_a_layout_by_which_no_line_could_be_read_is_refused_where_it_is_entered(operator, layout):
    page = operator.post(reverse("cluster-add"), {**ENTERED, "log_layout": layout})
    assert page.context["form"].errors.keys() == {"log_layout"}
    with pytest.raises(CommandError):
        call_command("add_cluster", "lab", pushed_logs=True, untested=True, layout=layout)
    assert not Cluster.objects.exists()


def test_a_layout_that_can_be_read_is_entered(operator):
    operator.post(
        reverse("cluster-add"), {**ENTERED, "log_layout": "%d [%t] %-5p %c{1}:%L %x - %m%n"}
    )
    assert Cluster.objects.get().log_layout == "%d [%t] %-5p %c{1}:%L %x - %m%n"
