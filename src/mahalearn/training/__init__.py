"""Training sets: all objects, or moments in a landmark space."""
