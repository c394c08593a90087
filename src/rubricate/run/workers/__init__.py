"""Workers: processes that judge parts of a run, on this machine or on others.

The driver is the run itself. It hands out blocks of items (`_blocks`), and workers (`_worker`)
judge them with the run's own executor and put the answers into the run's journal. What a block
comes to is read from there. Ray places the workers and starts them again (`_ray`).
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.workers._driving import Driving as Driving, driving as driving
    from rubricate.run.workers._options import Fleet as Fleet, resources_of as resources_of
else:
    __getattr__, __dir__ = lazy_door(__name__)
