"""The vocabulary: shapes and digests, no I/O."""
