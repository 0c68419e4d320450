"""Clusters that are found and not typed in: what declared sources list, as addresses with labels."""
