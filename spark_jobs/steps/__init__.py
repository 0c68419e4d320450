"""The steps of a cycle before jobs are folded. Each step is a plain function of Arrow batches."""
