"""The files that `bnnbench new` writes, for `string.Template`."""
