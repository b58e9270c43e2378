"""Sphinx configuration. Build with ``python -m sphinx -W -b html docs docs/_build/html``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate

import evenhand as eh

generate.main()

project = "Evenhand"
author = "the Evenhand authors"
project_copyright = "the Evenhand authors; Apache License 2.0"
version = release = eh.__version__

extensions = [
    "mathml",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "decisions/template.md"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

# Every notebook is executed at every build; a failing cell fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 600  # turns a hang into a failure, on a slow machine too
nb_execution_raise_on_error = False  # a warning with the traceback, which -W turns into a failure
nb_execution_show_tb = True
nb_merge_streams = True

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Pages that need the whole window.
WIDE = (
    "glossary",
    "reference/generated/tables",
    "reference/generated/reading",
    "reference/generated/command-line",
)

html_theme = "pydata_sphinx_theme"
html_title = f"Evenhand {release}"
html_static_path = ["_static"]
html_css_files = ["evenhand.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
# Pages without neighbours, and those that need the room, have no list of them.
ALONE = ("installation", "glossary", "policies/*", "contributing", "code-map", "compatibility", "changelog")
html_sidebars = {page: [] for page in ALONE}
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"]} | dict.fromkeys(WIDE, ()),
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
}
