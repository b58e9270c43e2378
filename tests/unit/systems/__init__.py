"""Systems as such: their records, and one that is made for these tests."""
