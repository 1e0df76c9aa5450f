"""What training asks of the C++ files: gradients, whole epochs, passes of PBP over the data.

May import cpp, nn, optim, likelihoods, losses, settings and types. The torch code of the methods is
the reference.
"""
