"""`karenina.adapters`: where answers come from that no model is asked for."""
