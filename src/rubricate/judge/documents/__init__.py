"""Long documents: splitting them, selecting parts, and judging them in parts."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.documents._judge import (
        CHUNK_TOKENS as CHUNK_TOKENS,
        DocumentJudge as DocumentJudge,
        check_chunk_tokens as check_chunk_tokens,
    )
    from rubricate.judge.documents._splitter import (
        Chunk as Chunk,
        estimated_tokens as estimated_tokens,
        split_document as split_document,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
