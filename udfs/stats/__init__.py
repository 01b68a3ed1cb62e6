"""Statistics of groups of rewards, of solve rates and of workers: exact where they can be, order-free everywhere."""
