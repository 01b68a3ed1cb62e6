"""How the part of a round that is rolled out turn by turn is told from the rest."""
