"""The steps of a cycle before jobs are folded, each a plain function of Arrow batches.

A small cycle calls them on all that is new; Spark's workers call them on the rows of the keys that
they were given.
"""
