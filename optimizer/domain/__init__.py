"""What things are: frozen pydantic objects holding plain Python numbers. No I/O, no solver, no pandas."""
