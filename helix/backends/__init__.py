"""Who answers requests: each module is one judge backend, opened from its settings."""
