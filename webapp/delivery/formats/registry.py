"""Every format by its name. Adding one: copy the nearest module, add it here and to ``FormatName``."""

from webapp.delivery.choices import FormatName
from webapp.delivery.formats import alertmanager, dingtalk, email, feishu, pagerduty, slack, wecom, weir
from webapp.delivery.formats.base import Format

FORMATS: dict[str, Format] = {
    FormatName.WEIR: weir.FORMAT,
    FormatName.ALERTMANAGER: alertmanager.FORMAT,
    FormatName.SLACK: slack.FORMAT,
    FormatName.PAGERDUTY: pagerduty.FORMAT,
    FormatName.FEISHU: feishu.FORMAT,
    FormatName.DINGTALK: dingtalk.FORMAT,
    FormatName.WECOM: wecom.FORMAT,
    FormatName.EMAIL: email.FORMAT,
}
