"""Reference results: split scores of many methods, read, checked and extended.

They are plain text in a zip archive, which can be read without the package; see `results`.
"""
