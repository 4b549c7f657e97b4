"""Results out: JSON, the terminal summary and the plan workbook (XlsxWriter)."""
