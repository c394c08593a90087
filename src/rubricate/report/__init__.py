"""The pages of runs, for a browser and for people who do not run code.

    from rubricate.report import write_report
    write_report("runs/demo")                          # runs/demo/report.html
    write_report("runs/new", compare="runs/old")       # with what changed between the two

The file needs nothing beside it and loads nothing from anywhere: figures with intervals, plots, and
every item with its verdicts, reasons, quotes and what was sent to the judge. `ViewServer` serves
the same page on this machine (`rubricate view`), with a list of runs, labels, and runs that
continue.
"""

from rubricate.report._page import ReportPage as ReportPage, write_report as write_report
from rubricate.report._server import ViewServer as ViewServer
