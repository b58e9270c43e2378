"""People's units: amounts, shares and times as they are written and read."""
