"""VAE with planar flows, and importance-weighted training (book, 5.4, 5.5.1 and Table 5.1)."""
