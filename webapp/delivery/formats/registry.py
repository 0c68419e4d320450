"""Every format by its name. Adding one: CONTRIBUTING, "A format of notices"."""

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
