"""What the scripted endpoint answers to the programs, there and here: by what is asked, alike."""

from __future__ import annotations

import hashlib
import json
import re

from rubricate.testing import JudgeRequest, Rule


def _number(*texts: str) -> int:
    return int(hashlib.md5("|".join(texts).encode()).hexdigest(), 16)


def _binary(model: str, criterion: str, submission: str) -> str:
    """The same of all models but for one answer in five; no answer to a text with `[[unclear]]`."""
    if "[[unclear]]" in submission:
        return "CANNOT_ASSESS"
    share = _number("all", criterion, submission) % 100
    if _number(model, criterion, submission) % 5 == 0:
        share = 100 - share
    return "MET" if share < 55 else "UNMET"


def _choice(model: str, question: str, submission: str, labels: list[str]) -> str:
    """One of the labels; the one that does not apply for a text with `[[unclear]]`."""
    aside = [name for name in labels if re.search("assess|cannot|applicable", name, re.I)]
    if "[[unclear]]" in submission:
        return max(aside)
    known = sorted(set(labels) - set(aside))
    who = "all" if _number(model, question, submission) % 4 else model
    return known[_number(who, question, submission) % len(known)]


def of_criteria(request: JudgeRequest) -> Rule:
    """Answers in the form that AutoRubric, or rubricate, asks for."""
    model = request.body["model"]
    if request.criterion:
        submission = " ".join(request.submission.split())
        if {"MET", "UNMET"} <= set(request.labels):
            label = _binary(model, request.criterion, submission)
        else:
            label = _choice(model, request.criterion, submission, list(request.labels))
        reply = {"reason": f"because {label}", "evidence": [], "verdict": label}
        return Rule(reply=json.dumps(reply))
    text = request.body["messages"][-1]["content"]
    asked = re.search(r"<(criterion|question)>\n(.*?)\n</\1>", text, re.DOTALL)
    submission = re.findall(r"<submission>\n(.*?)\n</submission>", text, re.DOTALL)[-1]
    assert asked is not None
    criterion, submission = " ".join(asked[2].split()), " ".join(submission.split())
    if asked[1] == "criterion":
        label = _binary(model, criterion, submission)
        reply = {"criterion_status": label, "explanation": f"because {label}"}
        return Rule(reply=json.dumps(reply))
    options = [line.partition(". ") for line in re.findall(r"^\d+\. .*$", text, re.MULTILINE)]
    label = _choice(model, criterion, submission, [name for _, _, name in options])
    [number] = [int(number) for number, _, name in options if name == label]
    return Rule(reply=json.dumps({"selected_option": number, "explanation": f"because {label}"}))


def of_scores(request: JudgeRequest) -> Rule:
    """The score that the response names as `[[4]]`; of 99 no score."""
    text = "\n".join(str(message.get("content")) for message in request.body["messages"])
    score = int(re.findall(r"\[\[(\d+)\]\]", text)[-1])
    reply = {"feedback": f"It is {score}.", "score": score}
    return Rule(reply="no JSON" if score == 99 else json.dumps(reply))
