"""For tests of programs that use the library: strategies, laws and comparisons.

`strategies` draws snapshots (it needs the extra `test`), `invariants` and
`metamorphic` hold the laws of fair shares, and `assertions` compares results in the
words of the field. `plan_laws`, `job_laws` and `priority_laws` hold the laws of
plans; `fewest` and `fewest_jobs` check proofs that victims are the fewest or the
cheapest. `sessions` plans small clusters of sessions slowly, for the laws.
"""
