"""What a report's figures are compared by: the digest of what was asked."""
