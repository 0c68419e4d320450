"""Discovers clusters: declared sources list them as addresses with labels."""
