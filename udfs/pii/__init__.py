"""Personal data and secrets in texts: found, counted, masked, with a way back to the text as received."""
