"""The commands of `bnnbench`, one module each: its parser and what it prints."""
