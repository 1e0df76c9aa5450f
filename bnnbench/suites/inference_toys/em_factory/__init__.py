"""The book's factory: expectation maximisation where two counts are missing (section 2.6.5.1)."""
