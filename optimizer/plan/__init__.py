"""What was decided, as plain data; its money; and the independent audit. No PuLP here."""
