"""A package, unlike other folders of tests: a fixture of scope "package" is made once for all its files."""
