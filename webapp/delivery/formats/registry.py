"""Every format by its name. Adding one: CONTRIBUTING, "A format of notices"."""

from webapp.delivery.formats import (
    alertmanager,
    dingtalk,
    email,
    feishu,
    pagerduty,
    slack,
    wecom,
    weir,
)
from webapp.delivery.formats.base import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (weir, alertmanager, slack, pagerduty, feishu, dingtalk, wecom, email)
}
