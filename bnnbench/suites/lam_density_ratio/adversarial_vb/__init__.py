"""Adversarial variational Bayes on images (thesis, 3.9.1 and chapter 10)."""
