"""Choice of parameters: line search, and exact cross-validation from shared factorisations."""
