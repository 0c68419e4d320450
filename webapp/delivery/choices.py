from django.db import models

from webapp.lib.translations import gettext_lazy as _


class FormatName(models.TextChoices):
    WEIR = "weir", _("Weir JSON (signed)")
    SLACK = "slack", "Slack"
    PAGERDUTY = "pagerduty", "PagerDuty"
    FEISHU = "feishu", "Feishu / Lark"
    DINGTALK = "dingtalk", "DingTalk"
    EMAIL = "email", _("E-mail")


class DeliveryState(models.TextChoices):
    """A delivery that is being sent is pending, too."""

    PENDING = "pending", _("pending")
    DELIVERED = "delivered", _("delivered")
    DEAD = "dead", _("dead")
    CANCELLED = "cancelled", _("cancelled")
