"""The application: reading people's files, comparing classifiers, the report, the command line."""
