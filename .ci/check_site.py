"""Check a built site: links within it lead somewhere, and no page loads anything from the network.

python .ci/check_site.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Generated pages; the listings of viewcode link a module's names by one of its two addresses.
SKIPPED = ("genindex.html", "search.html", "py-modindex.html", "_modules/")


class Page(HTMLParser):
    """Links, anchors and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Collect what refers to something."""
        found = dict(attributes)
        self.anchors.update(v for k, v in found.items() if k in ("id", "name") and v)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(found["href"])


def problems(folder):
    """Sentences about what is wrong."""
    found = [p for p in folder.rglob("*.html") if "_static" not in p.parts]
    pages = {p.resolve(): Page(p.read_text(encoding="utf-8")) for p in found}
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https") or address.startswith("//"):
                yield f"{name} loads {address}"
            elif not parts.scheme and not (path.parent / unquote(parts.path)).exists():
                yield f"{name} lacks {address}"
        for address in page.links if not name.startswith(SKIPPED) else ():
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name} links to {address}, which does not exist"
                continue
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if parts.fragment and not {parts.fragment, unquote(parts.fragment)} & anchors:
                yield f"{name} links to {address}: no such place on that page"


def main():
    """Print the problems; the exit code says whether there were any."""
    found = sorted(set(problems(Path(sys.argv[1]))))
    print("\n".join(found) or "all links lead somewhere; nothing is loaded from the network")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
