"""Modules for every host module: errors, files, progress, locks of packages, the launcher."""
