"""What methods are made of: their contract, the stacked trainer, Gaussians, curvature, diagnostics.

May import what methods may, and no method.
"""
