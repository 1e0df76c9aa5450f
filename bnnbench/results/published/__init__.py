"""Published test results and their protocol: which run is compared with which value.

To add a published table, append its numbers to `values.csv`, and scores of single splits, if they
were published, to `splits.csv`. Then add a table for each of its methods to `methods.toml`: which
of our runs are compared with it, and its settings. A test names the methods that are missing there.
"""
