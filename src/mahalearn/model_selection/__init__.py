"""Model selection from shared factorisations."""
