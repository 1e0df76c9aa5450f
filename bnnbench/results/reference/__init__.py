"""Reference results: split scores of many methods, read, checked and extended.

They are plain files in a folder, which can be read without the package; see `results`.
"""
