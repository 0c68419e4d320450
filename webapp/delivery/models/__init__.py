from webapp.delivery.models.delivery import Attempt, Delivery, DeliveryAlert
from webapp.delivery.models.endpoint import Endpoint

__all__ = ["Attempt", "Delivery", "DeliveryAlert", "Endpoint"]
