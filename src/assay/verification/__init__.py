"""Manifests, attestations, signing, verifying, rebuilding."""
