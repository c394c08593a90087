"""The journal: every finished judgement, under a key made of everything that could change it.

A `Journal` is an SQLite file or a run in a PostgreSQL database, which survive a killed process, or
records in memory. `Access` says how a process uses it, and so who else may. Each answer is stored
with its exchanges: what was sent and received, word for word. `Answers` is the journal of a run,
backed by a cache that several runs share.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.journal._accounts import Account as Account, Price as Price
    from rubricate.run.journal._answers import (
        LOOK_AGAIN as LOOK_AGAIN,
        Answers as Answers,
        Known as Known,
        Locks as Locks,
        SingleFlight as SingleFlight,
        lock_of as lock_of,
    )
    from rubricate.run.journal._exchanges import (
        Exchange as Exchange,
        Transcript as Transcript,
        read_lines as read_lines,
    )
    from rubricate.run.journal._journal import Journal as Journal, MemoryJournal as MemoryJournal
    from rubricate.run.journal._known_servers import (
        is_same_run as is_same_run,
        remembered as remembered,
        vouched as vouched,
    )
    from rubricate.run.journal._lease import Lease as Lease
    from rubricate.run.journal._ledger import Answer as Answer, Entry as Entry, Ledger as Ledger
    from rubricate.run.journal._opening import open_journal as open_journal
    from rubricate.run.journal._places import (
        Access as Access,
        Database as Database,
        Origin as Origin,
        Place as Place,
        check_address as check_address,
    )
    from rubricate.run.journal._records import (
        DOCUMENT as DOCUMENT,
        record_of as record_of,
        to_json as to_json,
        verdict_from_record as verdict_from_record,
    )
    from rubricate.run.journal._server import NoRoom as NoRoom, Server as Server
    from rubricate.run.journal._sqlite import (
        INTERVAL as INTERVAL,
        SQLiteJournal as SQLiteJournal,
        write_ahead as write_ahead,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
