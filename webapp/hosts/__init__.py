"""Hosts: what runs there, what failed there, and the findings that name them."""
