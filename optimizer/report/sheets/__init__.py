"""One module per family of sheets of the plan workbook: where its tables stand (`*_grid`) and how they are filled (`fill_*`)."""
