"""`karenina.adapters`: sources of answers other than models."""
