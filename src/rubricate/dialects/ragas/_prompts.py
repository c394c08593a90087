"""The prompts of `RubricsScore`, and the models of what they show and what comes back."""

from __future__ import annotations

from pydantic import BaseModel, Field

from rubricate.dialects.ragas.prompt import PydanticPrompt


class ScoreFeedback(BaseModel):
    """What a judge answers."""

    feedback: str = Field(description="Why the score is right, in one to three sentences")
    score: int = Field(description="The level of the rubric that fits best")


class SingleTurnInputWithoutRubric(BaseModel):
    """What a judge is shown of a question and its answer."""

    user_input: str | None = Field(None, description="What the user asked")
    retrieved_contexts: list[str] | None = Field(None, description="What was retrieved")
    reference_contexts: list[str] | None = Field(None, description="What the reference rests on")
    reference: str | None = Field(None, description="A correct answer")
    response: str | None = Field(None, description="The answer to be scored")


class MultiTurnInputWithoutRubric(BaseModel):
    """What a judge is shown of a conversation."""

    user_input: str | None = Field(None, description="The whole conversation")
    reference: str | None = Field(None, description="What it should have led to")


class SingleTurnPrompt(PydanticPrompt[SingleTurnInputWithoutRubric, ScoreFeedback]):
    """Asks for the score of an answer."""

    instruction = (
        "You score a response by a rubric. You are given, as far as there are any: what the user "
        "asked (user_input), contexts that were retrieved to answer it (retrieved_contexts), the "
        "contexts that a reference answer rests on (reference_contexts), the reference answer "
        "(reference), and the response.\n"
        "Score the response only, by what the levels of the rubric say. A reference answer shows "
        "one good response; another wording is as good. Do not reward length, confidence or "
        "polish that the rubric does not ask for."
    )
    input_model = SingleTurnInputWithoutRubric
    output_model = ScoreFeedback


class MultiTurnPrompt(PydanticPrompt[MultiTurnInputWithoutRubric, ScoreFeedback]):
    """Asks for the score of a conversation."""

    instruction = (
        "You score an assistant's part of a conversation by a rubric. You are given the whole "
        "conversation (user_input: the turns of Human and AI, the tools that the AI called, and "
        "what they put out) and, if there is one, what it should have led to (reference).\n"
        "Score what the AI said and did, over all of its turns, by what the levels of the rubric "
        "say. Do not reward length, confidence or polish that the rubric does not ask for."
    )
    input_model = MultiTurnInputWithoutRubric
    output_model = ScoreFeedback
