"""The parts of dedup_files: plain files in, kept rows and duplicates out; no lake, no JVM."""
