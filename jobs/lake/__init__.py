"""The lake: where tables lie, how they are created, and the one place from which they are written."""
