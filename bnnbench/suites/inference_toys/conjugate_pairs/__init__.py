"""Two conjugate pairs and their point estimates as observations accumulate (2.5.2 and 2.6)."""
