"""Texts that nobody wrote for a test: from the documentation of the packages that are installed."""

import gzip
import html
import re
from pathlib import Path

FOLDERS = ["/usr/share/doc", "/usr/share/perl", "/usr/lib/python3"]
NAMES = re.compile(r"(\.md|\.html?|\.txt|\.pod|\.rst|^readme[^/]*|^news[^/]*)(\.gz)?$", re.IGNORECASE)
MOST_BYTES = 200_000  # of a file
TEXT_BYTES = (300, 4000)  # of a text


def read(path):
    raw = path.read_bytes()[:MOST_BYTES]
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            raw = file.read(MOST_BYTES)
    return raw.decode("utf-8", errors="replace")


def pieces(text):
    """A text in parts of whole paragraphs."""
    part = ""
    for paragraph in re.split(r"\n\s*\n", text):
        if part and len(part) + len(paragraph) > TEXT_BYTES[1]:
            yield part
            part = ""
        part += ("\n\n" if part else "") + paragraph[:TEXT_BYTES[1]]
    yield part


def texts(count):
    """So many texts, each from another file, spread over all that are there; HTML as it stands and, every second time, as plain text."""
    files = sorted(path for folder in FOLDERS for path in Path(folder).rglob("*")
                   if path.is_file() and NAMES.search(path.name))
    taken = []
    for step in range(1, len(files) + 1):
        path = files[step * 7919 % len(files)]  # a large prime: neighbours come from different packages
        try:
            text = read(path)
        except (OSError, EOFError):
            continue
        if path.name.endswith((".html", ".htm")) and step % 2:
            text = html.unescape(re.sub(r"<[^>]*>", "", text))
        long_enough = [part for part in pieces(text) if len(part) >= TEXT_BYTES[0]]
        if not long_enough:
            continue
        taken.append((str(path), long_enough[step % len(long_enough)]))
        if len(taken) == count:
            return taken
    raise AssertionError(f"only {len(taken)} documents of installed packages")
