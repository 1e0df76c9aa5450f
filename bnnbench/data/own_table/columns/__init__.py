"""The columns of a frame: their roles, how they become numbers, and what is wrong with them."""
