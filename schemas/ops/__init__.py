"""Tables of the ops layer, one module each."""
