from datetime import datetime

from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib.badges import UNKNOWN, Badge, as_far_as_known

DELIVERY_BADGES: dict[str, Badge] = {
    DeliveryState.PENDING: Badge("pending", "○", "done"),
    DeliveryState.DELIVERED: Badge("delivered", "●", "ok"),
    DeliveryState.DEAD: Badge("dead", "▲", "crit"),
    DeliveryState.CANCELLED: Badge("cancelled", "■", "done"),
}
RETRYING = Badge("retrying", "◆", "warn")

ERRORS_MEAN = {
    "timeout": "It did not answer within 15 s.",
    "tls": "Its certificate could not be trusted.",
    "unknown_name": "Its name is not known to the name server.",
    "no_connection": "Nobody listens at its address.",
    "connection_lost": "It closed the connection without an answer.",
    "no_http": "What it answered is no HTTP.",
    "redirect": "It answered with a redirect; those are not followed. Enter the new address.",
    "refused_target": "Its address is not one Weir may connect to.",
    "unreadable_answer": "It answered 200, but not what its documentation says.",
    "not_rendered": "The notice could not be written in this format.",
    "superseded": "Newer notices say what became of the same alerts.",
    "mail": "The mail server did not take it.",
    "endpoint_disabled": "Its endpoint was disabled before it could be sent.",
    "failed": "It failed in a way Weir does not know.",
}


def delivery_badge(delivery: Delivery) -> Badge:
    if delivery.state == DeliveryState.PENDING and delivery.tries:
        return RETRYING
    return DELIVERY_BADGES.get(delivery.state, UNKNOWN)


def endpoint_badge(endpoint: Endpoint, now: datetime, *, is_sending: bool) -> Badge:
    """``is_sending``: Weir itself runs, so that the state is current."""
    if not endpoint.enabled:
        return Badge("disabled", "■", "crit" if endpoint.failures else "done")
    if endpoint.failures:
        return Badge("failing", "◆", "warn")
    if endpoint.paused_until and endpoint.paused_until > now:
        return Badge("paused", "◆", "warn")
    if not endpoint.last_delivered_at:
        return Badge("new", "○", "done")
    return as_far_as_known(Badge("works", "●", "ok"), is_sending)


def meaning(error: str) -> str:
    kind, _, number = error.partition("_")
    if number.isdigit() and kind == "status":
        return f"It answered {number}."
    if number.isdigit() and kind == "code":
        return f"It answered 200, and error {number} in the body."
    return ERRORS_MEAN.get(error, "")
