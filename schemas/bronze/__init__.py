"""Tables of the bronze layer, one module each."""
