"""Choice of parameters."""
