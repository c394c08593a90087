"""`karenina.schemas`: rubrics and their traits, models, templates, results."""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.karenina._models import (
    ModelConfig as ModelConfig,
    VerificationConfig as VerificationConfig,
)
from rubricate.dialects.karenina._results import (
    VerificationResult as VerificationResult,
    VerificationResults as VerificationResults,
)
from rubricate.dialects.karenina._template import (
    Template as Template,
    TemplateField as TemplateField,
)
from rubricate.dialects.karenina._traits import (
    CallableRubricTrait as CallableRubricTrait,
    ManualRubricTrait as ManualRubricTrait,
    MetricRubricTrait as MetricRubricTrait,
    Question as Question,
    RegexRubricTrait as RegexRubricTrait,
    Rubric as Rubric,
    RubricTrait as RubricTrait,
    StoredTrait as StoredTrait,
    merge_rubrics as merge_rubrics,
)

LLMRubricTrait = RubricTrait
RegexTrait = RegexRubricTrait
CallableTrait = CallableRubricTrait
VerificationResultSet = VerificationResults

names_elsewhere(__name__)
