"""Who is told, what is told to whom, and how each attempt to tell it went."""

from webapp.delivery.models.delivery import Attempt, Delivery, DeliveryAlert
from webapp.delivery.models.endpoint import Endpoint

__all__ = ["Attempt", "Delivery", "DeliveryAlert", "Endpoint"]
