"""Typed or pasted text → links: jobs with their checkpoints and analyses, hosts, rules, pages,
settings, explanations of a log line or exception, and open findings that quote it.
"""
