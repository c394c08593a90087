"""`ragas.metrics._instance_specific_rubrics`."""

from rubricate.dialects.ragas.metrics import InstanceRubrics as InstanceRubrics
