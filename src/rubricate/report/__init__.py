"""Pages of runs for a browser.

    from rubricate.report import write_report
    write_report("runs/demo")                          # runs/demo/report.html
    write_report("runs/new", compare="runs/old")       # with what changed between the two

The file is self-contained and loads nothing from anywhere: figures with intervals, plots, and every
item with its verdicts, reasons, quotes, prompts and replies. `ViewServer` serves the same page on
this machine (`rubricate view`), with a list of runs, labelling, and runs in progress.
"""

from rubricate.report._page import ReportPage as ReportPage, write_report as write_report
from rubricate.report._server import ViewServer as ViewServer
