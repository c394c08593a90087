"""`ragas.dataset_schema`: samples of one or several turns, datasets of them, and results."""

from rubricate.dialects.ragas._result import EvaluationResult as EvaluationResult
from rubricate.dialects.ragas._samples import (
    EvaluationDataset as EvaluationDataset,
    MultiTurnSample as MultiTurnSample,
    Sample as Sample,
    SingleTurnSample as SingleTurnSample,
)
from rubricate.dialects.ragas.messages import (
    AIMessage as AIMessage,
    HumanMessage as HumanMessage,
    ToolCall as ToolCall,
    ToolMessage as ToolMessage,
)
