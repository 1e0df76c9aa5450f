"""Labelled images for experiments that model images: sources, verification and binarisation."""
