"""A line through the origin whose slope and noise precision are both unknown, six times over.

The running example of chapter 3 of Cinelli, Marins, da Silva and Netto, "Variational Methods for
Machine Learning" (2021): coordinate ascent (3.2.1.7), assumed density filtering (3.2.2.4),
expectation propagation (3.2.3.5) and the black boxes of 3.2.4, beside quadrature. One module per
algorithm; what a report reads imports no torch.
"""
