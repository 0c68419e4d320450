"""A file of checkpoints that a restore did not find: whose it was, who needs it, when it was last
seen, what has deleted it.
"""
