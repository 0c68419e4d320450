"""The content of roots and checkpoints: merged files, retained snapshots, states that expire."""
