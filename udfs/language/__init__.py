"""Which language a document is written in: a model behind a small protocol, and the cases in which none is asked."""
