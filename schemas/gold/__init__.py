"""Tables of the gold layer, one module each."""
