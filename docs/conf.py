"""Sphinx builds the guides: `make guides` (HTML in build/guides, every warning an error)."""

project = "perfprobe"
extensions = ["myst_parser"]
exclude_patterns = ["examples"]
myst_heading_anchors = 3  # links to headings are checked
html_theme = "alabaster"
html_static_path = ["static"]  # the theme loads custom.css
html_theme_options = {
    "description": "Where a PyTorch program's time goes",
    "page_width": "1300px",
    "body_max_width": "auto",
    "code_font_size": "0.75em",  # tables of 130 columns fit
}
html_show_copyright = False
nitpicky = True
