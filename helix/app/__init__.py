"""The command line: the only floor that knows Hydra. The core runs from a `Config` without it."""
