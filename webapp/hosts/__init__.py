"""Hosts: declines, failed tasks, lost TaskManagers, findings that name them, and what runs there."""
