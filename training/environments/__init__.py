"""ConnectX in the forms that learning libraries know."""
