"""YuniKorn: cases of its unit tests, answers of its own code, and the parts that they are asked of."""
