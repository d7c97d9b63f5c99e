"""The command line: thin commands that parse, call one function and print."""
