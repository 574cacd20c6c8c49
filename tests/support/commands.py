"""Commands run in the process of the tests."""

from click.testing import CliRunner

from llrkit.cli import cli
from llrkit.cli.program import explained
from llrkit.errors import LlrkitError


def run(*arguments):
    """The command in this process: exit code as the program gives it, standard output, standard error."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if isinstance(result.exception, LlrkitError):
        line, code = explained(result.exception)
        return code, result.stdout, line
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
