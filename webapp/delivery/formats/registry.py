from webapp.delivery.formats import (
    dingtalk,
    discord,
    email,
    feishu,
    incidentio,
    jsm,
    pagerduty,
    slack,
    teams,
    telegram,
    weir,
)
from webapp.delivery.formats.base import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        *(weir, slack, teams, discord, telegram, feishu, dingtalk),
        *(pagerduty, jsm, incidentio, email),
    )
}
