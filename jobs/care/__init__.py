"""Care for a lake: what a takedown reaches and removes, and what maintenance compacts and frees."""
