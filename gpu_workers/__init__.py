"""The processes that generate: they meet the Spark jobs only in the files that ``schemas.handoff`` describes."""
