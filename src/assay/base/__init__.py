"""What every host module may use: errors, files, progress, locks of packages, the launcher."""
