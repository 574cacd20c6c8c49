"""``llrkit app``: the steps from score files to documents in a browser."""

from __future__ import annotations

import click

from llrkit.base.process import parse_size


@click.command("app")
@click.argument("files", nargs=-1)
@click.option("--projects", metavar="FOLDER", default="llrkit-projects", show_default=True,
              help="Where projects are saved, each in a folder of its own.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; by default a free one."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--max-upload", default="2G", show_default=True, metavar="SIZE", help="Largest file that a page may send."
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="NAME", help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="With --host: let other machines in, without encryption.")
def app_command(
    files: tuple[str, ...],
    projects: str,
    port: int,
    no_browser: bool,
    max_upload: str,
    host: str,
    allow_remote: bool,
) -> None:
    """Work in a browser, from score files to documents.

    Needs no code and runs on this machine. Prints one line with the address and a token that works once, and
    runs until it is interrupted. Files and results are removed at the end unless the project was saved.

    \b
    Examples:
      llrkit app
      llrkit app dev.csv eval.csv --projects cases
    """
    size = parse_size(max_upload, "--max-upload")
    from llrkit.app.server import run_app

    run_app(
        files, host=host, port=port, allow_remote=allow_remote, browser=not no_browser, projects=projects,
        max_upload=size, say=click.echo,
    )  # fmt: skip
