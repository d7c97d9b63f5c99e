"""People's own files: tables, proximity matrices, objects.

:mod:`~mahalearn.app.reading.read` is the entry. Every reader returns plain values and notes:
sentences on what was decided on the way, for the caller to say aloud. This part needs pandas
(``pip install "mahalearn[cli]"``).
"""
