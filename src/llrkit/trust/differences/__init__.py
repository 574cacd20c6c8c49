"""Is one system better than another? Tests on the same trials."""
