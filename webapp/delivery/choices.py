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
    """``pending`` includes attempts under way."""

    PENDING = "pending", _("pending")
    DELIVERED = "delivered", _("delivered")
    DEAD = "dead", _("dead")
    CANCELLED = "cancelled", _("cancelled")
