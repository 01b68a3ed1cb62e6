"""Web archives: WARC and WET, plain, gzip or zstd, whole or damaged.

FastWARC reads sound archives well, but it ends at the first header that it does not understand, gives every record of one gzip
member the same place, and hands out a payload that it cannot unpack as if it were text; none of this can be mended from outside. So
the framing (where a record begins and ends, what follows damage) is ours, and tests hold it against FastWARC on sound archives.
"""
