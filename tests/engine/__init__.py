"""A package, which tests are not elsewhere: a fixture of the scope of a package is made once for all of its files."""
