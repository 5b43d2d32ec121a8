# expect: REJECT load
# because: list index out of range
COLUMN = 3
