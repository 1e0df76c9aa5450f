"""Published values, the settings behind them, and how runs compare with them."""
