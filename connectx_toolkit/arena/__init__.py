"""Games that are played here: matches, tournaments, exams, and the store of their results."""
