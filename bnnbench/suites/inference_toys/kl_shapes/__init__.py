"""The Gaussian that minimises each divergence from a mixture, and mean-field approximations."""
