"""The journal: every finished judgement under a key of all that could change it.

A `Journal` is a protocol: an SQLite file or a run of a PostgreSQL database, which survive a killed
process, or records in memory. How a process has it (`Access`) says who else may have it.
Beside each answer stands what was sent and received for it, word for word. `Answers` is the journal
of a run with a cache behind it that several runs share.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.journal._accounts import Account, Price
    from rubricate.run.journal._answers import LOOK_AGAIN, Answers
    from rubricate.run.journal._exchanges import Exchange, Transcript, read_lines
    from rubricate.run.journal._journal import Journal, JournalReader
    from rubricate.run.journal._known_servers import remembered, vouched
    from rubricate.run.journal._lease import Lease
    from rubricate.run.journal._ledger import Answer, Entry, Ledger
    from rubricate.run.journal._memory import MemoryJournal
    from rubricate.run.journal._opening import journal_at, journal_reader, open_journal
    from rubricate.run.journal._places import (
        Access,
        Database,
        Origin,
        Place,
        check_address,
    )
    from rubricate.run.journal._records import (
        DOCUMENT,
        to_json,
        verdict_from_record,
        verdict_record,
    )
    from rubricate.run.journal._server import NoRoom, Server
    from rubricate.run.journal._sqlite import INTERVAL, SQLiteJournal, write_ahead
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "DOCUMENT",
    "INTERVAL",
    "LOOK_AGAIN",
    "Access",
    "Account",
    "Answer",
    "Answers",
    "Database",
    "Entry",
    "Exchange",
    "Journal",
    "JournalReader",
    "Lease",
    "Ledger",
    "MemoryJournal",
    "NoRoom",
    "Origin",
    "Place",
    "Price",
    "SQLiteJournal",
    "Server",
    "Transcript",
    "check_address",
    "journal_at",
    "journal_reader",
    "open_journal",
    "read_lines",
    "remembered",
    "to_json",
    "verdict_from_record",
    "verdict_record",
    "vouched",
    "write_ahead",
]
