"""``python -m jobs.cli`` is ``verilake``."""

from jobs.cli.main import main

main()
