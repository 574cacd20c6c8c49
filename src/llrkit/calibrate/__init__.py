"""Maps from score to LLR: every calibrator is ``fit_<name>(source, **options)`` and returns a map."""
