"""Workers: processes that judge parts of a run, on this machine or on others.

The driver is the process of the run. It hands out blocks of items (`_blocks`). Workers (`_worker`)
judge them with the same executor and store the answers in the journal of the run. Ray places the
workers and restarts them (`_ray`).
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.workers._driving import Driving as Driving, driving as driving
    from rubricate.run.workers._options import Fleet as Fleet, resources_of as resources_of
else:
    __getattr__, __dir__ = lazy_door(__name__)
