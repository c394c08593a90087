from autorubric import *


def t(f):
    try:
        f()
        print("no error")
    except Exception as e:
        print(isinstance(e, (ValueError, OSError)))


t(lambda: CriterionOption(label="x", value=2))
t(lambda: Rubric.from_dict([]))
t(lambda: Rubric.from_dict([{"weight": 1}]))
t(lambda: Criterion(requirement="q", options=[CriterionOption(label="a", value=1)]))
from autorubric.graders import CriterionGrader

#
t(lambda: Rubric.from_file("none.yaml"))
c = Criterion(
    requirement="q",
    options=[
        CriterionOption(label="a", value=0),
        CriterionOption(label="b", value=1),
        CriterionOption(label="na", value=0.7, na=True),
    ],
)
print(c.options[2].value, c.options[2].na, c.get_option_value(1), c.name, c.weight)
print(
    CriterionVerdict("MET"),
    CriterionVerdict.MET.value,
    CriterionVerdict.MET == "MET",
    [v.value for v in CriterionVerdict],
)
print(ThinkingLevel.LOW.value, CannotAssessStrategy.SKIP.value)
