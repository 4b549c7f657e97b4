"""What could serve: memory fit, matching measurements, options, usable offers; and why everything else was rejected."""
