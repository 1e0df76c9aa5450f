"""Linear regression through the origin with unknown weight and noise precision.

The running example of chapter 3 of Cinelli, Marins, da Silva and Netto, "Variational Methods for
Machine Learning" (2021): coordinate ascent (3.2.1.7), assumed density filtering (3.2.2.4),
expectation propagation (3.2.3.5) and the black-box methods of 3.2.4, compared with quadrature.

The modules that a report reads do not import torch.
"""
