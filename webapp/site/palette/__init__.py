"""Search (Ctrl K): finds jobs with their checkpoints and analyses, hosts, rules, pages and settings
for a typed text, and open findings that quote a pasted one.
"""
