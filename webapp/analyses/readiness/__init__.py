"""Which jobs could continue if their checkpoint storage were lost, and what a move costs."""
