"""How Sphinx builds the documentation; ``make_site.py`` prepares the sources and calls it."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from api_pages import ABSENT

from llrkit import __version__

project = "llrkit"
author = "The llrkit developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "signature_types",
    "api_pages",
]
exclude_patterns = ["_ext", "**.ipynb", "**/README.md"]
nitpicky = True
smartquotes = False  # --point is an option, not a dash

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"llrkit {release}"
html_static_path = ["_static"]
html_css_files = ["llrkit.css"]
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False  # a page on disk may not read its neighbors, so there would be none
html_theme_options = {
    "logo": {"text": "llrkit"},
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "show_nav_level": 1,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "back_to_top_button": False,
    "article_header_end": [],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "reference/api/generated/*": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_mock_imports = ABSENT
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
numpydoc_show_class_members = False
numpydoc_use_plots = False

sphinx_gallery_conf = {
    "examples_dirs": os.environ.get("LLRKIT_EXAMPLES", "../examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "plot_gallery": os.environ.get("LLRKIT_RUN_GALLERY", "1") == "1",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1_000_000,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "gallery_look.show_whole_figures"),
    "capture_repr": ("_repr_html_",),
    "matplotlib_animations": False,
    "write_computation_times": False,
    "copyfile_regex": r".*\.rst",
}


def without_blank_ends(app: "Sphinx", page: str, source: list[str]) -> None:
    """Drop the blank line that doctest needs before the end of a block: readers do not."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def setup(app: "Sphinx") -> None:
    """Connect what is done to every page."""
    app.connect("source-read", without_blank_ends)
