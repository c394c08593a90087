"""The same engine under the names that other systems' programs use.

Replacing the leading name in the import lines of such a program is all that it takes. A dialect has
constructors, aliases and views: what it grades are the core's rubrics and datasets, by the core's
judges, in the core's runs, with the core's options; see docs/other-libraries.md.
"""
