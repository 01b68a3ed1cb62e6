"""A model as judge: what it is shown, and what its reply says. The engine that runs it is elsewhere."""
