"""How noisy estimates of a gradient of an expectation are: score function against pathwise."""
