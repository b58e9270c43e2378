"""Cases with known answers, run against Evenhand: ``python -m tests.conformance FILE…``.

One module a file format. Each offers ``recognises(document)`` and ``cases(document)``; a case carries its
kind, its name and the function that runs it (none: the library does not offer this kind yet).
"""
