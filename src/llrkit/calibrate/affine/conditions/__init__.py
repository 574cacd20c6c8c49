"""CMLG whose class moments are smooth functions of the conditions of a trial."""
