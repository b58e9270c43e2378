"""From outside data to the core's raw columns, and back.

The way in: `dicts`, `jsontext` and `frames` (with `arrays`) turn their input into `cells`, one column
a field; `parse` makes raw columns of them by `columns`, cell by cell through `single` only where a
column's types need it; `sources` puts a whole input together and `assemble` hands it to the core.
Every problem on the way goes to one `problems.Report`.

The way back: `readback` makes raw columns of a snapshot, `rows` plain data and tables of those.
"""
