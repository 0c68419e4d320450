"""The steps of a cycle before jobs are folded, each a plain function of Arrow batches.

A small cycle calls them on all new rows, Spark's workers on the rows of their keys.
"""
