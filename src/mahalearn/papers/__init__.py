"""The papers' experiments: data, methods and protocols in, rows out."""
