"""From a file of any supported format to a frame with named columns."""
