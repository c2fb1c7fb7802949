"""How far the judge can be trusted, and how people say so."""
