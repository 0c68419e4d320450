"""What somebody types or pastes → where it leads: jobs, checkpoints, hosts, rules, pages, and what
a log line or an exception says.
"""
