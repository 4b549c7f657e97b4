"""fleetsheet: the cheapest provable fleet for serving LLMs, from a forecast workbook to a plan workbook."""

__version__ = "0.1.0"
