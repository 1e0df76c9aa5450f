"""Claims of a publication, each tested by an explicit rule, and what suites read for them."""
