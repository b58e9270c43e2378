"""For tests of whoever uses the library: strategies, laws, comparisons and a readable reference.

`strategies` draws snapshots (it needs the extra `test`), `invariants` and
`metamorphic` hold the laws of fair shares, `assertions` compares results in the
words of the field, and `reference` computes fair shares slowly, by the
published method. `plan_laws` holds the laws of plans, and `reference.ytsaurus`
plans slowly. `fewest` and `fewest_jobs` check proofs that victims are the fewest
or the cheapest.
"""
