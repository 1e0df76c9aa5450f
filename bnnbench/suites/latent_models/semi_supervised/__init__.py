"""Semi-supervised learning with a VAE, model M2 of Kingma et al. 2014 (book, 5.5.3 and 5.7)."""
