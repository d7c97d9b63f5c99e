"""Pages from rows: rows → a plain dict → one self-contained HTML page, or Markdown.

Nothing here knows a model. :mod:`~mahalearn.app.report.html` and
:mod:`~mahalearn.app.report.markdown` render a document, :mod:`~mahalearn.app.report.svg` draws its
figures.

A document is ``{"title", "lead", "sections": [{"id", "title", "blocks": [block, …]}, …]}``. A block
is a dict with a ``kind``:

- ``text``: ``text``; ``list``: ``items``.
- ``table``: ``caption``, ``corner``, ``columns`` (a text or ``{"text", "state"}``), ``rows`` of
  ``{"label", "cells"}``; a cell is a text or ``{"text", "detail", "state", "hint"}`` with the state
  agree, differ, apart or "". With ``prose`` its cells are text rather than numbers.
- ``statements``: ``items`` of ``{"text", "verdict": True, False or None, "detail"}``.
- ``key``: ``states``, pairs of a state and what it means.
- ``curves``: ``title``, ``xlabel``, ``ylabel``, ``x``, ``series`` of ``{"name", "y"}``.
- ``scatter``: ``title``, ``xlabel``, ``ylabel``, ``log``, ``points`` of ``{"x", "y", "allowed",
  "state", "calibration", "name"}`` about the diagonal.
- ``maps``: ``title``, ``extent``, ``resolution``, ``panels``, ``points``.
- ``code``: ``text``; ``figures``: ``items``, figures side by side, each with ``words`` below it.
- ``space``, ``histograms``, ``stems``, ``reliability``, ``bars``: see
  :mod:`~mahalearn.app.report.plots`.

:mod:`~mahalearn.app.report.comparison` is the document of a comparison on people's own data.
"""
