"""A mean behind clutter (Minka 2001): six approximations of one posterior, error against work."""
