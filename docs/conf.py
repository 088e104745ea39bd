"""Sphinx builds the guides: `make guides` (HTML in build/guides, every warning an error)."""

project = "perfprobe"
extensions = ["myst_parser"]
exclude_patterns = ["examples"]
myst_heading_anchors = 3  # links to headings are checked
html_theme = "alabaster"
html_theme_options = {"description": "Where a PyTorch program's time goes", "page_width": "1200px"}
html_show_copyright = False
nitpicky = True
