"""Pages from rows: rows → a plain dict → one self-contained HTML page, or Markdown.

Nothing here knows a model or computes a result. :mod:`~mahalearn.app.report.drawing`
writes plots as SVG text and :mod:`~mahalearn.app.report.figures` makes the figures of them,
:mod:`~mahalearn.app.report.html` fills the Jinja2 templates of ``templates/``, and
:mod:`~mahalearn.app.report.notebook` shows the same in a notebook.

A document is ``{"title", "lead", "answers", "facts", "notices", "sections", "objects", "footer"}``;
all but title and sections are optional. Answers are cards ``{"question", "answer", "detail",
"link", "state"}`` on the first screen; objects are what the script knows of the objects on a map. A
section is ``{"id", "title", "short", "blocks", "half"}``. A block is a dict with a
``kind``:

- ``text``: ``text``; ``heading``: ``text``; ``list``: ``items``; ``code``: ``text``.
- ``table``: ``caption``, ``corner``, ``columns`` (a text or ``{"text", "state"}``), ``rows`` of
  ``{"label", "cells"}``; a cell is a text or ``{"text", "detail", "state", "hint", "value"}`` with
  the state agree, differ, apart, best, words or "". With ``prose`` its cells are text rather than
  numbers; ``sortable`` and ``filter`` ask for the script's help; ``value`` is what is sorted by.
- ``statements``: ``items`` of ``{"text", "verdict", "detail"}``; the verdict is confirmed,
  contradicted, undecided or None.
- ``key``: ``states``, pairs of a state and what it means.
- ``figures``: ``items``, blocks side by side; ``group``: ``items``, blocks that stay together;
  ``details``: ``items`` behind a ``summary``; ``anchor``: an ``id`` that links lead to.
- a figure: one of :data:`mahalearn.app.report.figures.FIGURES`, with ``id``, ``title``, ``words``.

:mod:`~mahalearn.app.report.comparison` is the document of a comparison on people's own data, made
of :mod:`~mahalearn.app.report.answers` and the sections of
:mod:`~mahalearn.app.report.performance`, :mod:`~mahalearn.app.report.understanding` and
:mod:`~mahalearn.app.report.context`.
"""
