"""The page that a browser opens: a Jinja2 template, its style and its script, without network."""
