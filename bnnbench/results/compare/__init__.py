"""Runs compared with each other and with published values: pairs, tests, power and ranks."""
