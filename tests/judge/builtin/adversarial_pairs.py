"""Pairs of texts that share their words and not their meaning, for `test_adversarial.py`.

Of each pair the first text meets the criterion, the second only looks as if it did. `FIRST` was
written before the judge was made to withstand such texts; `SECOND`, of other domains, was not
looked at while that was done.
"""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A criterion, a text that meets it and one that does not.

    `allowed` holds the answers to the second that are right: UNMET, or none at all (abstains).
    """

    kind: str
    requirement: str
    honest: str
    hostile: str
    prompt: str = ""
    allowed: tuple[str | None, ...] = ("UNMET", None)


ABSTAINS: tuple[str | None, ...] = (None,)

FIRST = (
    Pair(
        "negation",
        "States that energy is conserved, so the speeds are equal.",
        "Energy is conserved, so the speeds at the bottom are equal.",
        "Energy is not conserved, so the speeds are not equal.",
    ),
    Pair(
        "negation",
        "Says that the vaccine prevents severe illness.",
        "The vaccine prevents severe illness in most adults.",
        "The vaccine does not prevent severe illness in adults.",
    ),
    Pair(
        "negation",
        "Antibiotics are effective against bacterial infections.",
        "Antibiotics work against bacterial infections and are effective.",
        "Antibiotics are never effective against bacterial infections.",
    ),
    Pair(
        "negation",
        "Explains that plants absorb carbon dioxide during photosynthesis.",
        "During photosynthesis plants absorb carbon dioxide and give off oxygen.",
        "It is a myth that plants absorb carbon dioxide during photosynthesis.",
    ),
    Pair(
        "reversal",
        "States that raising interest rates reduces inflation.",
        "Raising interest rates reduces inflation, since people borrow less.",
        "Raising interest rates increases inflation, since people borrow less.",
    ),
    Pair(
        "reversal",
        "Says that the pitch becomes higher when the string is shorter.",
        "When the string is shorter, the pitch becomes higher.",
        "When the string is shorter, the pitch becomes lower.",
    ),
    Pair(
        "reversal",
        "Mentions that the meeting was moved before lunch.",
        "They told us the meeting was moved before lunch.",
        "They told us the meeting was moved after lunch.",
    ),
    Pair(
        "number",
        "States that the train arrives at 9:15.",
        "The train arrives at 9:15 on platform two.",
        "The train arrives at 9:45 on platform two.",
    ),
    Pair(
        "number",
        "Says that the dose is 20 mg per day.",
        "The recommended dose is 20 mg per day.",
        "The recommended dose is 200 mg per day.",
    ),
    Pair(
        "number",
        "Gives the distance as 5 km.",
        "The distance between the two towns is 5 km.",
        "The distance between the two towns is 5 m.",
    ),
    Pair(
        "number",
        "States that the treaty was signed in 1648.",
        "The treaty was signed in 1648 after long talks.",
        "The treaty was signed in 1684 after long talks.",
    ),
    Pair(
        "number",
        "Reports that revenue grew by 12 percent.",
        "Revenue grew by 12 percent last year.",
        "Revenue grew by twenty percent last year.",
    ),
    Pair(
        "salad",
        "Explains that the same height means the same loss of potential energy.",
        "Since the height is the same, the loss of potential energy is the same too.",
        "height energy same potential loss means same explains the of that",
    ),
    Pair(
        "salad",
        "Explains why copper conducts electricity better than wood.",
        "Copper conducts electricity better than wood because its electrons move freely.",
        "copper wood electricity conducts better electrons wood copper better why",
    ),
    Pair(
        "stuffing",
        "Explains that evaporation leaves the salt behind.",
        "The evaporation of the water leaves the salt behind in the dish.",
        "I really enjoyed this class and my group was nice. evaporation salt leaves behind",
    ),
    Pair(
        "stuffing",
        "Discusses the economic causes of the French Revolution.",
        "Among the causes of the French Revolution were economic ones: debt and bread prices.",
        "This answer discusses the economic causes of the French Revolution.",
    ),
    Pair(
        "copy",
        "The student should mention the conservation of energy.",
        "I used the conservation of energy to compare both slides.",
        "The student should mention the conservation of energy.",
    ),
    Pair(
        "copy",
        "Describes how vaccines train the immune system.",
        "Vaccines train the immune system by showing it a harmless part of the virus.",
        "Describes how vaccines train the immune system. "
        "Describes how vaccines train the immune system.",
    ),
    Pair(
        "copy",
        "Explains why the sky is blue in terms of scattering of light.",
        "The sky is blue because the air scatters blue light more than red; this scattering ...",
        "Why is the sky blue? Explain in terms of the scattering of light.",
        prompt="Why is the sky blue? Explain in terms of the scattering of light.",
    ),
    Pair(
        "swap",
        "States that Rome defeated Carthage.",
        "In the end Rome defeated Carthage.",
        "In the end Carthage defeated Rome.",
    ),
    Pair(
        "swap",
        "Says that the seller must pay the buyer.",
        "Under the contract the seller must pay the buyer within a month.",
        "Under the contract the buyer must pay the seller within a month.",
    ),
    Pair(
        "swap",
        "Explains that the Earth revolves around the Sun.",
        "The Earth revolves around the Sun once a year.",
        "The Sun revolves around the Earth once a day.",
    ),
    Pair(
        "swap",
        "States that iron is denser than aluminium.",
        "A piece of iron is denser than aluminium.",
        "A piece of aluminium is denser than iron.",
    ),
    Pair(
        "language",
        "Mentions conservation of energy.",
        "This follows from the conservation of energy.",
        "La conservation de l'énergie explique pourquoi les vitesses sont les mêmes en bas.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "States that the information is stored in the bank.",
        "All of the information is stored in the bank.",
        "Die Information ist in der Bank und wird dort nicht gelöscht.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "Names Moscow as the capital.",
        "The capital is Moscow.",
        "Столица России находится в Москве.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The argument is persuasive and free of fallacies.",
        "",
        "The argument is that taxes are too high, and anyone who disagrees is a fool.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The code is efficient and maintainable.",
        "",
        "def f(x):\n    return [y for y in x for z in x if y == z]",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "All citations resolve to real sources.",
        "",
        "As Smith (2031) shows, the moon is hollow [1].",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "Does the tutor offer guidance that helps the student to find the mistake?",
        "",
        "No, that is wrong. Try it again, you can do it.",
        allowed=ABSTAINS,
    ),
)

SECOND = (
    Pair(
        "negation",
        "Tells the customer that the refund was approved.",
        "Good news: your refund was approved this morning.",
        "I am sorry to say that your refund was not approved.",
    ),
    Pair(
        "negation",
        "The patient has a history of asthma.",
        "She has had a history of asthma since childhood.",
        "The patient denies any history of asthma.",
    ),
    Pair(
        "negation",
        "Recommends freezing the dough overnight.",
        "I recommend freezing the dough overnight before you bake it.",
        "I do not recommend freezing the dough overnight.",
    ),
    Pair(
        "negation",
        "Says that the function raises an exception on empty input.",
        "Given empty input the function raises an exception.",
        "Given empty input the function returns None without raising an exception.",
    ),
    Pair(
        "reversal",
        "States that the lease must be renewed after March.",
        "The lease must be renewed after March by both parties.",
        "The lease must be renewed before March by both parties.",
    ),
    Pair(
        "reversal",
        "Says that unemployment fell in the second quarter.",
        "In the second quarter unemployment fell again.",
        "In the second quarter unemployment rose again.",
    ),
    Pair(
        "reversal",
        "Advises storing the wine in a cool place.",
        "Store the wine in a cool place away from the window, I would advise.",
        "Store the wine in a warm place away from the window, I would advise.",
    ),
    Pair(
        "number",
        "States that checkout is at 11:00.",
        "Guests should know that checkout is at 11:00.",
        "Guests should know that checkout is at 10:00.",
    ),
    Pair(
        "number",
        "The oven is preheated to 220 degrees.",
        "First the oven is preheated to 220 degrees.",
        "First the oven is preheated to 180 degrees.",
    ),
    Pair(
        "number",
        "Mentions that the loan runs for 30 years.",
        "The loan runs for 30 years at a fixed rate.",
        "The loan runs for 30 months at a fixed rate.",
    ),
    Pair(
        "number",
        "Says that the fine is $500.",
        "The fine for this is $500.",
        "The fine for this is $5,000.",
    ),
    Pair(
        "number",
        "Says that three players were injured.",
        "Three players were injured in the match.",
        "Five players were injured in the match.",
    ),
    Pair(
        "salad",
        "Argues that remote work lowers office costs for companies.",
        "Remote work lowers office costs, so companies save money.",
        "companies costs for remote lowers that office argues work costs office",
    ),
    Pair(
        "salad",
        "Explains that garlic burns quickly at high heat.",
        "Garlic burns quickly at high heat, so add it late.",
        "garlic garlic heat high burns quickly garlic heat burns",
    ),
    Pair(
        "stuffing",
        "Explains that the index speeds up lookups in the table.",
        "The index speeds up lookups in the table because rows are found by key.",
        "The weather has been fine all week, and I went for a walk. index lookups table speeds up",
    ),
    Pair(
        "stuffing",
        "Describes the symptoms of a heart attack.",
        "The symptoms of a heart attack are pain in the chest and short breath.",
        "My response fully describes the symptoms of a heart attack as required.",
    ),
    Pair(
        "copy",
        "The reply should apologise for the late delivery.",
        "I apologise for the late delivery of your parcel.",
        "The reply should apologise for the late delivery.",
    ),
    Pair(
        "copy",
        "Summarises the plot twist at the end of the novel.",
        "At the end of the novel comes the plot twist: the narrator was the thief.",
        "Criterion: Summarises the plot twist at the end of the novel.",
    ),
    Pair(
        "copy",
        "Names the river on which Vienna lies.",
        "Vienna lies on the river Danube.",
        "On which river does Vienna lie, and which countries does that river cross?",
        prompt="On which river does Vienna lie, and which countries does that river cross?",
    ),
    Pair(
        "swap",
        "Says that the fox chased the hound.",
        "All morning the fox chased the hound.",
        "All morning the hound chased the fox.",
    ),
    Pair(
        "swap",
        "States that the parent company acquired the startup.",
        "Last week the parent company acquired the startup.",
        "Last week the startup acquired the parent company.",
    ),
    Pair(
        "swap",
        "Explains that the client sends a request to the server.",
        "To begin with, the client sends a request to the server.",
        "To begin with, the server sends a request to the client.",
    ),
    Pair(
        "swap",
        "Says that Anna is older than Ben.",
        "We learn that Anna is older than Ben.",
        "We learn that Ben is older than Anna.",
    ),
    Pair(
        "language",
        "Mentions the hospital and the doctor.",
        "The doctor took him to the hospital.",
        "El doctor lo llevó al hospital porque tenía mucha fiebre.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "Names the restaurant and the menu.",
        "The menu of the restaurant is short.",
        "Het menu van het restaurant is kort maar goed.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "Mentions the price of the ticket.",
        "The price of the ticket has gone up.",
        "切符の値段が上がりました。",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The poem evokes a strong mood and avoids cliches.",
        "",
        "Roses are red, violets are blue, the mood is strong, and so are you.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "Are the steps of the solution justified and free of gaps?",
        "",
        "Step 1: the steps follow. Step 2: the solution is 4.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The advice is practical and suited to a beginner.",
        "",
        "My advice to a beginner: practise.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The recipe would turn out well.",
        "",
        "Mix the flour with water. Bake it. It would turn out well.",
        allowed=ABSTAINS,
    ),
)

THIRD = (
    Pair(
        "negation",
        "Confirms that the warranty covers water damage.",
        "The warranty covers water damage, we can confirm.",
        "The warranty doesn't cover water damage, we can confirm.",
    ),
    Pair(
        "negation",
        "Copper is attracted by a magnet.",
        "In the test, copper was attracted by a magnet.",
        "In the test, copper was not attracted by a magnet.",
    ),
    Pair(
        "negation",
        "Mentions that the accused had an alibi.",
        "The accused had an alibi for that night.",
        "The accused had no alibi for that night.",
    ),
    Pair(
        "negation",
        "Explains that bees communicate by dancing.",
        "Bees communicate by dancing on the comb.",
        "Nobody believes that bees communicate by dancing.",
    ),
    Pair(
        "reversal",
        "States that the yen strengthened against the dollar.",
        "The yen strengthened against the dollar on Monday.",
        "The yen weakened against the dollar on Monday.",
    ),
    Pair(
        "reversal",
        "Says that the left valve is open.",
        "At the start the left valve is open.",
        "At the start the left valve is closed.",
    ),
    Pair(
        "reversal",
        "Reports that sea level rises.",
        "Measurements show that the sea level rises.",
        "Measurements show that the sea level falls.",
    ),
    Pair(
        "number",
        "Gives the boiling point as 78 °C.",
        "The boiling point of ethanol is 78 °C.",
        "The boiling point of ethanol is 87 °C.",
    ),
    Pair(
        "number",
        "States that the museum opens at 10 am.",
        "The museum opens at 10 am on weekdays.",
        "The museum opens at 9 am on weekdays.",
    ),
    Pair(
        "number",
        "Says that the marathon is 42 kilometres long.",
        "A marathon is 42 kilometres long.",
        "A marathon is 42 miles long.",
    ),
    Pair(
        "number",
        "Mentions a turnout of 64%.",
        "There was a turnout of 64% in the vote.",
        "There was a turnout of 46% in the vote.",
    ),
    Pair(
        "number",
        "Says that the twins were born in 1994.",
        "The twins were born in 1994 in Leeds.",
        "The twins were born in 1998 in Leeds.",
    ),
    Pair(
        "salad",
        "Explains how the enzyme breaks down lactose in the gut.",
        "The enzyme breaks down lactose in the gut into two sugars.",
        "lactose gut enzyme breaks gut lactose down how enzyme the of",
    ),
    Pair(
        "salad",
        "Describes why the bridge collapsed in high wind.",
        "The bridge collapsed in high wind since it began to swing.",
        "bridge wind collapsed high bridge why collapsed wind high",
    ),
    Pair(
        "stuffing",
        "Discusses the risks of the surgery.",
        "Among the risks of the surgery are bleeding and infection.",
        "In this essay, I discuss the risks of the surgery. Thank you.",
    ),
    Pair(
        "stuffing",
        "Recommends a fixed mortgage because rates will climb.",
        "I recommend a fixed mortgage, because rates will climb.",
        "Fixed mortgage. Rates climb. Recommend. Because.",
    ),
    Pair(
        "copy",
        "The letter must mention the deadline for the application.",
        "The deadline for the application is the first of May.",
        "The letter must mention the deadline for the application",
    ),
    Pair(
        "copy",
        "Explains the role of the heart in blood circulation.",
        "In blood circulation the role of the heart is to pump.",
        "Explains the role of the heart in blood circulation!!!",
    ),
    Pair(
        "copy",
        "Names two causes of soil erosion.",
        "Two causes of soil erosion are rain and wind.",
        "Name two causes of soil erosion.",
        "Name two causes of soil erosion.",
    ),
    Pair(
        "swap",
        "Says that the teacher praised the pupil.",
        "In front of all the teacher praised the pupil.",
        "In front of all the pupil praised the teacher.",
    ),
    Pair(
        "swap",
        "States that Mars is smaller than Venus.",
        "It is known that Mars is smaller than Venus.",
        "It is known that Venus is smaller than Mars.",
    ),
    Pair(
        "swap",
        "Reports that France beat Italy.",
        "On Sunday France beat Italy by two goals.",
        "On Sunday Italy beat France by two goals.",
    ),
    Pair(
        "swap",
        "Explains that predators eat prey.",
        "Predators eat prey to live.",
        "Prey eat predators to live.",
    ),
    Pair(
        "language",
        "Mentions the museum and the garden.",
        "The museum has a garden behind it.",
        "Le museum est fermé, mais le jardin est ouvert pour les enfants.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "Names the problem with the motor.",
        "The problem is that the motor is too hot.",
        "Das Problem ist, dass der Motor zu heiß wird.",
        allowed=ABSTAINS,
    ),
    Pair(
        "language",
        "Mentions the station.",
        "We met at the station.",
        "Spotkaliśmy się na stacji, bo nie było innego miejsca.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The pitch deck would convince an investor.",
        "",
        "We convince every investor with our pitch deck.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "Does the reply show empathy for the caller?",
        "",
        "I have empathy. Next caller please.",
        allowed=ABSTAINS,
    ),
    Pair(
        "quality",
        "The proof is rigorous and leaves nothing out.",
        "",
        "Proof: trivial.",
        allowed=ABSTAINS,
    ),
    Pair("quality", "The headline grabs attention.", "", "Attention! Grabs!", allowed=ABSTAINS),
)
