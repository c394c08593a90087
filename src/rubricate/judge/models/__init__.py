"""Destinations of a prompt: an HTTP endpoint or a Python callable.

A model that runs in this process (a GGUF file, for example) is also a `Model`, and belongs beside
`_http.py`.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.models._batch_folder import (
        BATCHES as BATCHES,
        Batch as Batch,
        batches_in as batches_in,
    )
    from rubricate.judge.models._batches import OUT as OUT, BatchModel as BatchModel
    from rubricate.judge.models._providers import find_setting as find_setting
    from rubricate.judge.models._forms import forget_forms as forget_forms
    from rubricate.judge.models._http import HTTPModel as HTTPModel
    from rubricate.judge.models._model import (
        TEMPERATURE as TEMPERATURE,
        TIMEOUT as TIMEOUT,
        Completion as Completion,
        Draw as Draw,
        Message as Message,
        Model as Model,
        Quota as Quota,
        ReplyForm as ReplyForm,
        Request as Request,
        Send as Send,
    )
    from rubricate.judge.models._prices import (
        ModelPrice as ModelPrice,
        price_of as price_of,
        read_prices as read_prices,
    )
    from rubricate.judge.models._providers import (
        GENERIC_KEY as GENERIC_KEY,
        PROVIDERS as PROVIDERS,
        Provider as Provider,
        access as access,
        address_of as address_of,
        settings_of as settings_of,
        split_name as split_name,
    )
    from rubricate.judge.models._python import PythonModel as PythonModel
    from rubricate.judge.models._openai import token_text as token_text
    from rubricate.judge.models._responses import status_error as status_error
else:
    __getattr__, __dir__ = lazy_door(__name__)
