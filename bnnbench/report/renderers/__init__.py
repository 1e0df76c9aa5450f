"""One module per output format. Each renders the blocks of `report.blocks`."""
