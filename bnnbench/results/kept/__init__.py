"""Kept results: dated editions of split scores, read, checked and extended.

An edition is a folder of plain files that can be read without the package; see `edition`.
"""
