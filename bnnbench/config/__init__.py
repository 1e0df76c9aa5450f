"""From overrides to checked dataclasses: composing, sweeps, instantiation. Uses Hydra."""
