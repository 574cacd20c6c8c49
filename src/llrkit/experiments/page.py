"""A plain HTML page of an experiment: tables and figures in one file that opens anywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from llrkit._atomic import write_atomically
from llrkit.plot.picture import Picture

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; font-size: 85%; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 0; flex: 1 1 24rem; max-width: 32rem; }
figure img { width: 100%; height: auto; }
figcaption { font-size: 90%; color: #444; }
@media print { body { margin: 0; max-width: none; } figure { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Paragraph:
    """Text."""

    text: str


@dataclass(frozen=True)
class PageTable:
    """A table with a caption."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class PageFigure:
    """A drawn picture and what to say about it."""

    file: Path
    picture: Picture
    caption: str


Part = Paragraph | PageTable | tuple[PageFigure, ...]


def write_page(path: Path, title: str, sections: Sequence[tuple[str, Sequence[Part]]]) -> None:
    """Write a page: sections of paragraphs, tables and rows of figures. All text is escaped.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.html"
    >>> write_page(file, "a < b", [("Results", [Paragraph("1 & 2")])])
    >>> "a &lt; b" in file.read_text() and "1 &amp; 2" in file.read_text()
    True
    """
    body = [f"<h1>{escape(title)}</h1>"]
    for heading, parts in sections:
        body.append(f"<h2>{escape(heading)}</h2>")
        body += [_html(part) for part in parts]
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    )
    write_atomically(path, text + "\n".join(body) + "\n</body>\n</html>\n")


def _html(part: Part) -> str:
    if isinstance(part, Paragraph):
        return f"<p>{escape(part.text)}</p>"
    if isinstance(part, PageTable):
        return _table(part)
    return '<div class="figures">\n' + "\n".join(_figure(figure) for figure in part) + "\n</div>"


def _table(part: PageTable) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in part.header)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in part.rows
    )
    return (
        f'<div class="wide"><table>\n<caption>{escape(part.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _figure(figure: PageFigure) -> str:
    image = b64encode(figure.file.read_bytes()).decode("ascii")
    described = escape(figure.picture.described)
    return (
        f'<figure><img src="data:image/svg+xml;base64,{image}" alt="{described}">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
