"""Tables, pages and charts of results."""
