"""One module per trace format; each exports its `FORMAT`."""
