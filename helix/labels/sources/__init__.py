"""Where labels come from: one module per source, each with `read(path)` (see `LabelSource`)."""
