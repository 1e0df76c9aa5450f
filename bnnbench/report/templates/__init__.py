"""The HTML page: a Jinja2 template, its style sheet and its script."""
