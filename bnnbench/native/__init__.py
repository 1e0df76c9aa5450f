"""Training in native code: gradients, epochs of update rules, HMC trajectories and PBP passes.

The torch code of the methods is the reference implementation. May import cpp, nn, optim,
likelihoods, losses, divergences, settings and types.
"""
