"""Documents as text."""

from __future__ import annotations

import io
import zipfile

import pytest

from rubricate.dataset import Converter, read_document_file

HTML = """<html><head><title>t</title><style>p {}</style></head><body><script>bad()</script>
<h1>Title</h1><p>Some <b>bold</b> words.</p><ul><li>one</li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"""


def docx(text: str) -> bytes:
    """A Word document with a heading and a paragraph."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>'
        f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>',
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in files.items():
            archive.writestr(name, part)
    return content.getvalue()


def pdf(text: str) -> bytes:
    """A PDF with one line of text."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(content)
    content += b"xref\n0 6\n0000000000 65535 f \n" + table
    return content + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start


def test_html_keeps_headings_lists_and_tables_and_drops_scripts(tmp_path):
    (tmp_path / "a.html").write_text(HTML)
    text = read_document_file(tmp_path / "a.html")
    assert "# Title" in text
    assert "**bold**" in text
    assert "- one" in text
    assert "| 1 | 2 |" in text
    assert "bad()" not in text


@pytest.mark.parametrize(("name", "make"), [("a.docx", docx), ("a.pdf", pdf)])
def test_word_and_pdf_are_converted_once(tmp_path, monkeypatch, name, make):
    path, cache = tmp_path / name, tmp_path / "cache"
    path.write_bytes(make("Words of the report."))
    text = read_document_file(path, cache=cache)
    assert "Words of the report." in text
    if name == "a.docx":
        assert text.startswith("# Title")
    assert len(list(cache.iterdir())) == 1

    def again(*arguments: object) -> None:
        raise AssertionError("converted again")

    monkeypatch.setattr(Converter, "convert", again)
    assert read_document_file(path, cache=cache) == text
    moved = path.rename(tmp_path / f"other{path.suffix}")  # the content counts, not the name
    assert read_document_file(moved, cache=cache) == text


def test_markdown_is_kept_byte_for_byte(tmp_path):
    (tmp_path / "a.md").write_bytes("\ufeff# T\r\n\r\nText\r".encode())
    assert read_document_file(tmp_path / "a.md") == "# T\r\n\r\nText\r"
