"""Which jobs could go on if the storage of their checkpoints were lost, and what a move costs."""
