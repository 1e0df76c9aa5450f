"""VAE and conditional VAE with several numbers of latent variables (book, 5.6.3)."""
