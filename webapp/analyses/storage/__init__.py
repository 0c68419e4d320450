"""What roots and checkpoints hold: merged files, what is retained, states that expire."""
