"""The journal: every finished judgement under a key of all that could change it.

It is an SQLite file that survives a killed process, with a checksum for each record. Beside each
answer stands what was sent and received for it, word for word. `Answers` is the journal of a run
with a cache behind it that several runs share.
"""

from rubricate.run.journal._answers import Answers
from rubricate.run.journal._exchanges import Exchange, Transcript, read_lines
from rubricate.run.journal._journal import INTERVAL, TROUBLE, Journal
from rubricate.run.journal._opening import open_journal
from rubricate.run.journal._records import DOCUMENT, to_json, verdict_from_record, verdict_record

__all__ = [
    "DOCUMENT",
    "INTERVAL",
    "TROUBLE",
    "Answers",
    "Exchange",
    "Journal",
    "Transcript",
    "open_journal",
    "read_lines",
    "to_json",
    "verdict_from_record",
    "verdict_record",
]
