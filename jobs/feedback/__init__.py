"""Parts of feed_back: statistics, training rows, what a person must look at."""
