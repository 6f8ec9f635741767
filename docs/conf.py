"""How the site is built: `make docs`. Pages are Markdown; options and the API come from the declarations."""

import sys
from pathlib import Path

import topicx

sys.path.insert(0, str(Path(__file__).resolve().parent / "_site"))

project = "topicx"
author = "the topicx developers"
copyright = "the topicx developers; MIT licence"
version = release = topicx.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "command_options",
    "empty_heads",
    "old_places",
    "public_names",
    "sample_report",
]
root_doc = "index"
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages, which have no inventory here

autodoc_typehints = "none"  # the sections of parameters have types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"topicx {release}"
html_static_path = ["_static"]
html_css_files = ["topicx.css"]
html_theme_options = {
    "light_css_variables": {"color-code-background": "#f3f5f8", "color-inline-code-background": "#f3f5f8"},
    "dark_css_variables": {"color-code-background": "#26282c", "color-inline-code-background": "#26282c"},
}
html_js_files = ["topicx.js"]
html_show_sphinx = False
html_copy_source = False
html_use_index = True
html_show_sourcelink = False
html_show_search_summary = False  # the summaries are fetched, which pages of file:// may not do
pygments_style = "a11y-high-contrast-light"  # furo brings it
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True
