"""The report: one static HTML file about a round, without network and without script."""

from jobs.report.write import default_target, write_report

__all__ = ["default_target", "write_report"]
