"""Conversion by a model: the chain filter -> identify -> generate -> evidence -> check, as a pure function of a document and its replies."""
