"""A machine with a GPU that is reached by SSH: what is copied there, started, shown and fetched."""
