"""Steps of a cycle before the fold: plain functions of Arrow batches."""
