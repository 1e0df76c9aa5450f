"""One file per medium: each turns blocks of `report.section` into text; imports nothing else."""
