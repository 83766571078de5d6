"""The commands, each in the module of its name; assay.cli.main offers them."""
