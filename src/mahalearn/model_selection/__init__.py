"""Choice of parameters: exact searches from shared factorisations, line searches."""
