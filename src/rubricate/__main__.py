"""`python -m rubricate`: the shell."""

from rubricate.cli import main

if __name__ == "__main__":
    main()
