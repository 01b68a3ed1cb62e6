"""Programs that run inside the sandbox; the parent reads ``wire`` alone and never runs the others."""
