"""What somebody types or pastes → where it leads: jobs with their checkpoints and analyses, hosts,
rules, pages, settings, what a log line or an exception says, and open findings that quote it.
"""
