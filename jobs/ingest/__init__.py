"""Parts of the ingest job."""
