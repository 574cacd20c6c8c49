"""How far the numbers can be trusted: intervals, idempotence, equalised conditions, validation."""
