"""Printed figures held against each other and against datasheets: no evidence is asked."""
