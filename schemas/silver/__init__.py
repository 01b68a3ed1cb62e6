"""Tables of the silver layer, one module each."""
