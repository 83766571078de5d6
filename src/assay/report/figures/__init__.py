"""The pictures of a report, as SVG."""
