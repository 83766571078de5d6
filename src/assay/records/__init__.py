"""The typed, versioned JSON documents that stages exchange. They know nothing of the stages."""
