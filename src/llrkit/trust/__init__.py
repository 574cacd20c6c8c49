"""How far the numbers can be trusted: intervals, idempotence, equalized conditions, validation."""
