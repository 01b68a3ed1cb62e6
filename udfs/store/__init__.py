"""A directory as the one meeting place of jobs and workers: an atomic primitive, the layout of a run, the proof of a part."""
