"""Sphinx: ``make docs`` builds the site without the network, with warnings as errors."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from inventory import compile_inventory  # noqa: E402
from pages import write_cheat_sheet  # noqa: E402

import mahalearn  # noqa: E402

os.environ.setdefault("OMP_NUM_THREADS", "1")
project = "mahalearn"
author = "The mahalearn developers"
copyright = author
version = release = mahalearn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "autolink",
    "cli_options",
    "docstrings",
    "mathml",
    "pages",
]
html_math_renderer = "mathml"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "_inventories", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
root_doc = "index"

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# API
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
smartquotes = False  # "RC+" is a value
nitpicky = True  # a name that leads nowhere is a warning
default_role = "literal"  # `reg` in a docstring is code
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Other projects, by inventories that come with the sources
_build = HERE / "_build" / "inventories"
_sites = {
    "numpy": "https://numpy.org/doc/stable/",
    "scikit-learn": "https://scikit-learn.org/stable/",
}
intersphinx_mapping = {
    name: (address, compile_inventory(HERE / "_inventories" / f"{name}.txt", _build))
    for name, address in _sites.items()
}


# Gallery
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": [
        f"../examples/{name}" for name in ("tables", "objects", "novelty", "scale")
    ],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("mahalearn",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "show_memory": False,
    "min_reported_time": 0,
    "show_signature": False,
    "download_all_examples": False,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (480, 230),
    "reset_modules": ("matplotlib",),
    "write_computation_times": False,
}

# Code is copied without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Page
html_theme = "pydata_sphinx_theme"
html_title = f"mahalearn {version}"
html_static_path = ["_static"]
html_extra_path = ["_build/extra"]  # made here
write_cheat_sheet(HERE / "cheat_sheet.md", HERE / "_build" / "extra" / "cheat_sheet.pdf")
html_css_files = ["mahalearn.css"]
html_js_files = ["sortable.js"]
html_logo = html_favicon = "_static/logo.svg"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "mahalearn"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    # A large picture and wide tables need the whole width.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("index", "which", "translate", "measures")},
    },
    "show_prev_next": True,
}
html_sidebars = {page: [] for page in ("index", "gallery/index", "start", "which", "translate")}
