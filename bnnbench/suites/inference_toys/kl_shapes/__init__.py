"""Which Gaussian each divergence picks, and what a factorised one cannot say.

Imports what its experiment and its page need; the modules that a page reads know no torch.
"""
