"""Two conjugate pairs and the point estimates of each, as data come in (sections 2.5.2 and 2.6)."""
