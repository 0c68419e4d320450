"""``{% load strips %}``: outcomes as a strip of bars."""

from django import template

from webapp.charts.strips import strip

register = template.Library()
register.filter("strip", strip)
