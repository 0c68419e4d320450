"""What roots and checkpoints hold, as analyses of roots and jobs tell it: merged files, what is retained, states that expire."""
