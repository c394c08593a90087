"""The same engine under the names that other systems' programs use.

Replacing the leading name in the import lines of such a program is all that it takes.
"""
