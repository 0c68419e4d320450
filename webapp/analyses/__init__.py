"""What Weir works out of one job beside its checkpoints: an analysis each, one declaration for
page, API, command and report.
"""
