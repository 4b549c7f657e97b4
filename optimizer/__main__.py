"""`python -m optimizer` is the same as the `fleetsheet` command."""

from optimizer.cli import main

if __name__ == "__main__":
    main()
