"""``llrkit schema``: what JSON and files hold, for programs that read them."""

from __future__ import annotations

import click


@click.command("schema")
@click.argument("name", required=False)
def schema_command(name: str | None) -> None:
    """Print the JSON Schema of an output or file.

    Without NAME, lists the schemas of all --json outputs and files.

    \b
    Examples:
      llrkit schema
      llrkit schema evaluate > evaluate.schema.json
      llrkit schema map
    """
    from llrkit.cli.schemas.published import SCHEMAS, as_text

    if name is not None:
        click.echo(as_text(name), nl=False)
        return
    width = max(map(len, SCHEMAS))
    for known in sorted(SCHEMAS):
        published = SCHEMAS[known]
        kind = "a file" if published.is_file else "numbers.json" if known == "demo" else "--json"
        click.echo(f"{known:{width}}  llrkit.{known}/{published.version}  {kind}")
