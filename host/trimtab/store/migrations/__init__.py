"""The schema of the store, step by step, as alembic runs them."""
