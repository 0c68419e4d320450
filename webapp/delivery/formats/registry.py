from webapp.delivery.formats import (
    dingtalk,
    email,
    feishu,
    pagerduty,
    slack,
    weir,
)
from webapp.delivery.formats.base import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (weir, slack, pagerduty, feishu, dingtalk, email)
}
