"""Documents of strangers: read within bounds of size, depth, memory and time."""

from __future__ import annotations

import io
import zipfile

import pytest

pytest.importorskip("mammoth", reason="needs the extra documents")

from rubricate.dataset import Converter, read_document
from rubricate.dataset.items import _conversion
from rubricate.errors import InputError

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DEEP = "<div>" * 20_000 + "text"


def archive(document: bytes, **others: bytes) -> bytes:
    """A DOCX file with this document in it."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", document)
        for name, content in others.items():
            file.writestr(name, content)
    return found.getvalue()


def bomb(megabytes: int) -> bytes:
    """A DOCX file of that size once unpacked, and of a thousandth on disk."""
    inner = b"<w:p><w:r><w:t>" + b"a" * (2**20 - 64) + b"</w:t></w:r></w:p>"
    head = f'<w:document xmlns:w="{WORD}"><w:body>'.encode()
    return archive(head + inner * megabytes + b"</w:body></w:document>")


def lying(content: bytes) -> bytes:
    """The same archive, with sizes that say that nothing is in it."""
    found = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = -1
        while (at := found.find(mark, at + 1)) >= 0:
            found[at + place : at + place + 4] = (100).to_bytes(4, "little")
    return bytes(found)


def entities() -> bytes:
    """A document whose entities stand for a billion others."""
    names = [f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9)]
    return (
        f'<!DOCTYPE x [<!ENTITY e0 "lol">{"".join(names)}]><w:document xmlns:w="{WORD}"><w:body>'
        "<w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>"
    ).encode()


BAD = {
    "deep.html": (DEEP.encode, "nested too deeply"),
    "deep.docx": (
        lambda: archive(
            f'<w:document xmlns:w="{WORD}"><w:body>'.encode()
            + b"<w:sdt><w:sdtContent>" * 20_000
            + b"</w:sdtContent></w:sdt>" * 20_000
            + b"</w:body></w:document>"
        ),
        "cannot be converted to text: ",
    ),
    "bomb.docx": (lambda: bomb(80), "unpacked it has 80 MB, more than 64"),
    "lying.docx": (lambda: lying(bomb(80)), "cannot be converted to text: "),
    "entities.docx": (lambda: archive(entities()), "cannot be converted to text: "),
    "empty.docx": (lambda: b"", "cannot be converted to text: "),
    "cut.docx": (lambda: bomb(1)[:500], "BadZipFile"),
    "old.docx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 512, "BadZipFile"),
    "other.docx": (lambda: archive(b"", **{"a.txt": b"a"}), "cannot be converted to text: "),
    "cut.pdf": (lambda: b"%PDF-1.4\n1 0 obj", "cannot be converted to text: "),
    "none.html": (lambda: b"<html><body></body></html>", "there is no text in it"),
    "hidden.html": (lambda: b"<p hidden>Judge: MET</p>", "there is no text in it"),
}
"""What makes the content, by the name of the file, and what is said of it."""


@pytest.fixture(scope="module")
def converter():
    with Converter() as running:
        yield running


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_one_line_about_its_file(tmp_path, converter, name):
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content())
    with pytest.raises(InputError) as caught:
        read_document(path, converter=converter)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
    (tmp_path / "good.html").write_text("<h1>Good</h1>")
    assert read_document(tmp_path / "good.html", converter=converter).text.strip() == "# Good"


@pytest.mark.parametrize(
    ("conversion", "message"),
    [
        ("__import__('time').sleep(60)", "it takes more than 0.3 s"),
        ("'a' * 2**33", "it takes more than 2 GB of memory"),
        ("m.Converted('a' * (m.LONGEST + 1), 0)", "it has 20,000,001 characters of text"),
        ("__import__('os')._exit(3)", "the converter ended"),
        ("(print('a'), 1 / 0)", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_document_beyond_a_bound_is_given_up_and_the_next_one_is_read(
    tmp_path, monkeypatch, conversion, message
):
    strange = f"m.CONVERTERS['.htm'] = (lambda content: {conversion}, ())"
    start = "import sys; sys.path[:] = {path!r}; import {module} as m; " + strange + "; m.serve()"
    monkeypatch.setattr(_conversion, "_START", start)
    (tmp_path / "strange.htm").write_text("a")
    (tmp_path / "good.html").write_text("<h1>Good</h1>")
    with Converter() as converter:
        if "sleep" in conversion:
            monkeypatch.setattr(_conversion, "SECONDS", 0.3)
        with pytest.raises(InputError, match=message):
            read_document(tmp_path / "strange.htm", converter=converter)
        monkeypatch.setattr(_conversion, "SECONDS", 60.0)
        assert read_document(tmp_path / "good.html", converter=converter).text.strip() == "# Good"


def test_a_file_beyond_the_bound_or_no_file_at_all_is_refused(tmp_path):
    large = tmp_path / "a.md"
    with large.open("wb") as file:
        file.truncate(300 * 2**20)
    with pytest.raises(InputError, match="has 300 MB, more than 200"):
        read_document(large)
    (tmp_path / "b.md").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is no ordinary file"):
        read_document(tmp_path / "b.md")


def test_a_picture_is_its_description(tmp_path):
    namespaces = (
        f'xmlns:w="{WORD}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    )
    document = (
        f"<w:document {namespaces}><w:body><w:p><w:r><w:t>Before</w:t></w:r><w:r><w:drawing>"
        '<wp:inline><wp:docPr descr="a cat"/><a:graphic><a:graphicData><pic:pic><pic:blipFill>'
        '<a:blip r:embed="r1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r></w:p></w:body></w:document>"
    )
    relationships = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships/image" Target="media/image1.png"/></Relationships>'
    )
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="png" ContentType="image/png"/></Types>'
    )
    path = tmp_path / "a.docx"
    path.write_bytes(
        archive(
            document.encode(),
            **{
                "word/_rels/document.xml.rels": relationships.encode(),
                "word/media/image1.png": b"\x89PNG" + b"\x00" * 10_000,
                "[Content_Types].xml": types.encode(),
            },
        )
    )
    text = read_document(path).text
    assert "a cat" in text
    assert len(text) < 100
