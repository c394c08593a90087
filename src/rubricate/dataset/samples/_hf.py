"""Reading samples with the Hugging Face `datasets` package (extra `hf`)."""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rubricate.dataset.samples._dataset import MemoryDataset, OnError
from rubricate.dataset.samples._fields import FieldSpec, Record, RecordToSample, decoded
from rubricate.dataset.samples._json_text import without_nan
from rubricate.dataset.samples._loading import Loading
from rubricate.errors import InputError, extra_needed

WAITS = (1.0, 2.0, 4.0)
"""Seconds before each retry of a request to the Hub."""
BATCH = 1024
"""The number of records that are read at a time."""


def hf_dataset(
    path: str,
    split: str,
    name: str | None = None,
    data_dir: str | None = None,
    revision: str | None = None,
    sample_fields: FieldSpec | RecordToSample | None = None,
    trust: bool = False,
    cached: bool = True,
    retry: bool = True,
    *,
    auto_id: bool = False,
    shuffle: bool | int = False,
    seed: int | None = None,
    shuffle_choices: bool | int | None = None,
    limit: int | None = None,
    on_error: OnError = "raise",
    check: bool = False,
    **kwargs: Any,
) -> MemoryDataset:
    """Read samples from a dataset of the Hugging Face Hub, a local folder, or a builder.

    The `datasets` package caches its downloads. A local file that has changed is read again.

    Args:
        path: the dataset's name, a folder, or a builder (`json`, `csv`, `parquet`, ...).
        split: the split to read.
        name: the dataset's configuration.
        data_dir: the folder of the configuration's data.
        revision: a branch, tag or commit.
        sample_fields: as for `csv_dataset`.
        auto_id: use the number of a record in the source, from 1, as the id of its sample; `7-2` is
            the second sample of record 7.
        shuffle: shuffle the records, in the same order as `datasets`; a number is the seed.
        seed: the seed of the shuffle. Default: drawn from the `random` module.
        shuffle_choices: shuffle each sample's choices; a number is the seed.
        limit: the maximum number of records.
        trust: run a dataset's own loading script, if the `datasets` package still supports it.
        cached: reuse earlier downloads; False downloads and prepares the data again.
        retry: ask the Hub again, after 1, 2 and 4 seconds, if it is unreachable, times out or is
            busy.
        on_error: `skip` leaves out invalid records, which are then in the dataset's `skipped`.
        check: reject duplicate ids.
        **kwargs: passed to `datasets.load_dataset`.

    Raises:
        MissingExtraError (ImportError): `datasets` is not installed.
        InputError (ValueError): an argument or a record is invalid.
    """
    # Shuffle and limit apply to records, not to samples.
    order = Loading(shuffle=shuffle, seed=seed, limit=limit)
    title = Path(path).name if Path(path).is_dir() else path
    loading = Loading(
        sample_fields,
        name=title,
        location=path,
        auto_id=auto_id,
        shuffle_choices=shuffle_choices,
        on_error=on_error,
        check=check,
    )
    if not isinstance(split, str):
        raise InputError(f"split must name one split, such as 'train'; found {split!r}")
    data = _loaded(
        path,
        retry=retry,
        name=name,
        data_dir=data_dir,
        split=split,
        revision=revision,
        download_mode="reuse_dataset_if_exists" if cached else "force_redownload",
        **({"trust_remote_code": True} if trust else {}),
        **kwargs,
    )
    numbers: list[int] = []
    return loading.dataset(_records(data, order, numbers), numbers, bool(order.shuffle))


def _records(data: Any, order: Loading, numbers: list[int]) -> Iterator[Record]:
    """The records in the requested order; `numbers` gets each one's number in the source, from
    1."""
    if not hasattr(data, "select"):  # streaming
        data = data.map(lambda row, index: {"number": index + 1, "row": row}, with_indices=True)
        if order.shuffle:
            data = data.shuffle(seed=_seed(order))
        for entry in itertools.islice(data, order.limit):
            numbers.append(entry["number"])
            yield None, decoded(without_nan, entry["row"])
        return
    picked: Any = range(len(data))
    if order.shuffle:
        import numpy as np

        # The same permutation as `datasets` for a seed.
        picked = np.random.default_rng(_seed(order)).permutation(len(data))
    picked = picked[: order.limit]
    numbers.extend(int(index) + 1 for index in picked)
    chosen = data.select(picked)
    for start in range(0, len(chosen), BATCH):
        columns = chosen[start : start + BATCH]
        for values in zip(*columns.values(), strict=True):
            yield None, decoded(without_nan, dict(zip(columns, values, strict=True)))


def _seed(order: Loading) -> int:
    return random.getrandbits(32) if order.seed is None else order.seed


def _loaded(path: str, *, retry: bool = True, **options: Any) -> Any:
    """Load the split, without output on stdout."""
    with extra_needed("hf_dataset", "hf"):
        import datasets
    with contextlib.redirect_stdout(sys.stderr):
        for wait in (*(WAITS if retry else ()), None):
            try:
                data = datasets.load_dataset(path=path, **options)
                break
            except Exception as error:  # a client's own, e.g. for a missing package
                if wait is None or not _may_pass(error):
                    reason = " ".join(str(error).split())
                    raise InputError(
                        f"cannot be loaded: {type(error).__name__}: {reason}", file=path
                    ) from None
            time.sleep(wait)
    if isinstance(data, dict):
        raise InputError(f"split must name one split of {', '.join(map(str, data))}", file=path)
    return data


def _may_pass(error: BaseException) -> bool:
    """Whether an error is temporary: no connection, a timeout, or a busy server."""
    import huggingface_hub.constants

    if huggingface_hub.constants.HF_HUB_OFFLINE:
        return False
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if status is not None:
        return status in (408, 429) or status >= 500
    return isinstance(error, ConnectionError | TimeoutError) or "Timeout" in type(error).__name__


def hf_records(path: str, split: str, wanted: int | None) -> Iterator[Record]:
    """Yield the records of a split, one after the other.

    Args:
        path: the dataset's name, a folder, or a builder.
        split: the split.
        wanted: the number of records that will be read; None for all.

    Raises:
        MissingExtraError (ImportError): `datasets` is not installed.
        InputError (ValueError): the split cannot be loaded.
    """
    data = _loaded(path, split=split, download_mode="reuse_dataset_if_exists")
    yield from _records(data, Loading(limit=wanted), [])
