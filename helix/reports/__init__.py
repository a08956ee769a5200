"""Reports: one composer, and renderers that project what it composed (METHOD 85, 86)."""
