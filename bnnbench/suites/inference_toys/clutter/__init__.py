"""The clutter problem (Minka 2001): error and cost of six approximate posteriors."""
