"""From outside data to raw columns, and back.

dicts, jsontext and frames turn their input into *cells*, one column a field;
columns parses cells into what the core takes; draft puts a snapshot together;
readback is the way back. Every problem goes to one `problems.Report`.
"""
