"""``{% load strips %}``: outcomes, health and sizes as small drawings in a row of a table."""

from django import template

from webapp.charts.strips import strip
from webapp.charts.trends import bytes_trend, health_trend

register = template.Library()
register.filter("strip", strip)
register.filter("health_trend", health_trend)
register.filter("bytes_trend", bytes_trend)
