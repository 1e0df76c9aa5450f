"""The beta-VAE between rate and distortion (book, 5.3.2 and Fig. 5.15)."""
