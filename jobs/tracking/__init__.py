"""Rounds as MLflow runs. mlflow is imported inside functions only: it takes seconds, and most commands never need it."""
