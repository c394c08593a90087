"""Where a prompt goes: an HTTP endpoint or a Python callable.

A model that runs in this process (a GGUF file, say) has its place beside `_http.py`: it is a
`Model` too.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.models._env_file import find_setting
    from rubricate.judge.models._forms import forget_forms
    from rubricate.judge.models._http import HTTPModel
    from rubricate.judge.models._model import (
        Completion,
        Message,
        Model,
        Quota,
        ReplyForm,
        Request,
        Send,
    )
    from rubricate.judge.models._prices import ModelPrice, price_of, read_prices
    from rubricate.judge.models._providers import (
        GENERIC_KEY,
        PROVIDERS,
        Provider,
        access,
        address_of,
        settings_of,
        split_name,
    )
    from rubricate.judge.models._python import PythonModel
    from rubricate.judge.models._tokens import token_text
    from rubricate.judge.models._wire import status_error
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "GENERIC_KEY",
    "PROVIDERS",
    "Completion",
    "HTTPModel",
    "Message",
    "Model",
    "ModelPrice",
    "Provider",
    "PythonModel",
    "Quota",
    "ReplyForm",
    "Request",
    "Send",
    "access",
    "address_of",
    "find_setting",
    "forget_forms",
    "price_of",
    "read_prices",
    "settings_of",
    "split_name",
    "status_error",
    "token_text",
]
