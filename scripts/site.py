#!/usr/bin/env python3
"""The documentation as the source of a book, and the book checked.

usage: site.py check
       site.py stage FOLDER [--library FOLDER] [--notebooks FOLDER]
       site.py verify SITE

`check` needs no mdBook: docs/SUMMARY.md names every page of docs/ once, each link of its pages leads to a file, no page
loads anything from another host, and the page of the Rust library names every crate. `stage` writes the book's source:
the pages of the summary where they are in the repository, the files that they link to as pages of their own, and
book.toml. The library are pages of rustdoc, notebooks the pictures that `python/notebooks/run.py` made; both may be
absent. `verify` reads the built pages: no link within them is dead, nothing comes from another host.
"""

import html.parser
import itertools
import os
import pathlib
import posixpath
import re
import shutil
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUMMARY = "docs/SUMMARY.md"
LIBRARY = "docs/reference/library.md"
NOTEBOOKS = "python/notebooks/README.md"
ENTRY = re.compile(r"^( *)(- )?\[(.+)\]\(([^()]+)\)$")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^()\s]+)(\))")
PICTURES = (".svg", ".png")
LANGUAGES = {".toml": "toml", ".rs": "rust", ".c": "c", ".h": "c", ".py": "python", ".json": "json", ".yml": "yaml",
             ".sh": "sh"}


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def summary():
    """The lines of the summary: indentation, title and path from the root of the repository, or the heading of a part."""
    entries = []
    for line in text(SUMMARY).splitlines():
        found = ENTRY.match(line)
        if found:
            indent, item, title, link = found.groups()
            entries.append((indent + (item or ""), title, posixpath.normpath(posixpath.join("docs", link))))
        elif line.startswith("# ") and line != "# Summary":
            entries.append((None, line[2:], None))
        elif line.strip() and line != "# Summary":
            sys.exit(f"{SUMMARY}: neither a heading nor a link: {line}")
    return entries


def parts(page_text):
    """A page as (is it code, text) in turns: fenced blocks and code between backquotes hold no links."""
    at = 0
    code = re.compile(r"^```.*?^```[^\n]*$|^~~~~.*?^~~~~[^\n]*$|^(?: {4}\S[^\n]*\n)+|`[^`\n]+`", re.M | re.S)
    for found in code.finditer(page_text):
        block = not found.group().startswith(("`", "~"))
        # Indented lines are code after an empty line only; within a list they go on with it.
        if block and not page_text[:found.start()].endswith("\n\n"):
            continue
        yield False, page_text[at:found.start()]
        yield True, found.group()
        at = found.end()
    yield False, page_text[at:]


def links(page_text):
    """The targets of the links of a page."""
    # A link may hold code in its text: backquotes are kept, fenced blocks are not.
    plain = re.sub(r"^```.*?^```[^\n]*$|^~~~~.*?^~~~~$", "", page_text, flags=re.M | re.S)
    return [found.group(2) for found in LINK.finditer(plain)]


def is_elsewhere(link):
    return re.match(r"[a-z][a-z+.-]*:|//", link) is not None


def target_of(page, link):
    """The path from the root of the repository that a link of a page leads to, and its anchor."""
    path, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), anchor


def faults_of_sources(entries):
    pages = [path for _, _, path in entries if path]
    faults = [f"{SUMMARY} names {path} twice" for path in sorted(set(pages)) if pages.count(path) > 1]
    for page in sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")):
        if page not in pages and page != SUMMARY:
            faults.append(f"{SUMMARY} does not name {page}")
    for page in pages:
        if not (ROOT / page).is_file():
            faults.append(f"{SUMMARY} names {page}, which does not exist")
            continue
        page_text = text(page)
        for link in links(page_text):
            if not is_elsewhere(link) and not (ROOT / target_of(page, link)[0]).exists():
                faults.append(f"{page}: {link} leads nowhere")
        plain = re.sub(r"^```.*?^```[^\n]*$|`[^`\n]*`", "", page_text, flags=re.M | re.S)
        if re.search(r"!\[[^\]]*\]\((?:https?:)?//|<(?:img|script|link|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//", plain):
            faults.append(f"{page} loads something from another host")
    library = text(LIBRARY)
    for crate in sorted((ROOT / "crates").iterdir()):
        name = "laxity_" + crate.name.replace("-", "_")
        if (crate / "src/lib.rs").is_file() and f"| `{name}` |" not in library:
            faults.append(f"{LIBRARY} does not name {name}")
    return faults


def about(file):
    """The first sentence of the comment at the beginning of a TOML file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.suffix == ".toml" else []
    comment = itertools.takewhile(lambda line: line.startswith("# "), lines)
    sentence = re.match(r".*?[.:](?= |$)", " ".join(line[2:] for line in comment))
    return f": {sentence.group().rstrip(':')}" if sentence else ""


def file_page(path):
    """A linked file, or the list of a linked folder, as the text of a page."""
    if (ROOT / path).is_dir():
        rows = [f"# `{path}/`\n"]
        for entry in sorted((ROOT / path).iterdir()):
            if entry.is_file():
                rows.append(f"- [{entry.name}]({posixpath.basename(path)}/{entry.name}){about(entry)}")
        return "\n".join(rows) + "\n"
    if is_notebook(path):
        return notebook(path)
    fence = "~~~~"
    return f"# `{path}`\n\n{fence}{LANGUAGES.get(pathlib.Path(path).suffix, '')}\n{text(path).rstrip()}\n{fence}\n"


def is_notebook(path):
    return re.fullmatch(r"python/notebooks/[0-9]_\w+\.py", path) is not None


def notebook(path):
    """The cells of a notebook as a page: text, and programs."""
    page = []
    for cell in ("\n" + text(path)).split("\n# %%")[1:]:
        kind, _, body = cell.partition("\n")
        if kind.strip() == "[markdown]":
            page.append("\n".join(line[2:] for line in body.strip("\n").splitlines()))
        else:
            page.append(f"~~~~python\n{body.strip()}\n~~~~")
    return "\n\n".join(page) + "\n"


class Book:
    """The pages of the book by their path from the root of the repository, and where each is in the book."""

    def __init__(self, entries):
        self.entries = entries
        self.pages = {path: text(path) for _, _, path in entries if path}
        self.files, self.pictures = {}, set()
        open_pages = list(self.pages)
        while open_pages:
            page = open_pages.pop()
            for link in links(self.text_of(page)):
                target, _ = target_of(page, link)
                if is_elsewhere(link) or target in self.pages or target in self.files:
                    continue
                if target.endswith(PICTURES):
                    self.pictures.add(target)
                else:
                    self.files[target] = file_page(target)
                    if self.has_links(target):
                        open_pages.append(target)

    def has_links(self, path):
        """A file is shown as it is; the list of a folder and the texts of a notebook lead on."""
        return path in self.pages or (ROOT / path).is_dir() or is_notebook(path)

    def notebooks(self):
        return sorted(path for path in self.files if is_notebook(path))

    def text_of(self, page):
        return self.pages[page] if page in self.pages else self.files[page]

    def place(self, path):
        """The path in the book's source."""
        return path if path in self.pages or path in self.pictures else path + ".md"

    def with_links(self, page):
        """The text of a page, its links leading to pages of the book."""

        def rewritten(found):
            link = found.group(2)
            if is_elsewhere(link):
                return found.group()
            target, anchor = target_of(page, link)
            place = posixpath.relpath(self.place(target), posixpath.dirname(page) or ".")
            return found.group(1) + place + ("#" + anchor if anchor else "") + found.group(3)

        if not self.has_links(page):
            return self.files[page]
        pieces, held = [], []
        for is_code, piece in parts(self.text_of(page)):
            # Code stands for itself while links around it are rewritten.
            if is_code:
                held.append(piece)
                piece = f"\0{len(held) - 1}\0"
            pieces.append(piece)
        joined = LINK.sub(rewritten, "".join(pieces))
        return re.sub("\0([0-9]+)\0", lambda found: held[int(found.group(1))], joined)


def with_rust(page_text, rust):
    """The crates of a table as links to their pages, where they were built."""
    return re.sub(r"^\| `(laxity_\w+)` \|", lambda found:
                  f"| [`{found.group(1)}`](../../rust/{found.group(1)}/index.html) |"
                  if (rust / found.group(1) / "index.html").is_file() else found.group(), page_text, flags=re.M)


def checked_book():
    """The book, if its sources have no faults."""
    entries = summary()
    faults = faults_of_sources(entries)
    if faults:
        sys.exit("\n".join(faults))
    book = Book(entries)
    print(f"{len(book.pages)} pages, {len(book.files)} files, {len(book.pictures)} pictures")
    return book


def stage(folder, library, pictures):
    book = checked_book()
    shutil.rmtree(folder, ignore_errors=True)
    src = folder / "src"
    for page in [*book.pages, *book.files]:
        place = src / book.place(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        page_text = book.with_links(page)
        if page == LIBRARY and library:
            page_text = with_rust(page_text, library)
        for own in book.notebooks() if page == NOTEBOOKS else [page] if is_notebook(page) else []:
            picture = pictures and pictures / (pathlib.Path(own).stem + ".png")
            if picture and picture.is_file():
                page_text += f"\n![The picture at the end of {own}]({picture.name})\n"
                shutil.copyfile(picture, place.with_name(picture.name))
        place.write_text(page_text, encoding="utf-8")
    for picture in book.pictures:
        (src / picture).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, src / picture)
    lines = ["# Summary\n"]
    for form, title, path in book.entries:
        lines.append(f"\n# {title}\n" if path is None else f"{form}[{title}]({path})")
        if path == NOTEBOOKS:
            inner = "  " + form
            lines += [f"{inner}[{book.files[own].splitlines()[0][2:]}]({book.place(own)})" for own in book.notebooks()]
    lines.append("\n# Files that the pages name\n")
    configuration = text("docs/book.toml")
    files = sorted(set(book.files) - set(book.notebooks()))
    for top in sorted({path.split("/")[0] for path in files}):
        members = [path for path in files if path.split("/")[0] == top]
        # A folder without a page of its own is a heading that opens.
        if top not in members:
            lines.append(f"- [`{top}`]()")
        lines += [f"{'  ' if path != top else ''}- [`{path}`]({book.place(path)})" for path in members]
    for path in files:
        if not path.startswith("scenarios/"):
            configuration += f'\n[output.html.search.chapter."{book.place(path)}"]\nenable = false\n'
    (src / "SUMMARY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "book.toml").write_text(configuration, encoding="utf-8")
    shutil.copyfile(ROOT / "docs/site.css", folder / "site.css")


class Page(html.parser.HTMLParser):
    """The links, loaded files and anchors of a built page."""

    def __init__(self):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and values.get("name"):
            self.anchors.add(values["name"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        if values.get("src"):
            self.loaded.append(values["src"])


def verify(site):
    """Reads the book's own pages, and of those of the Rust library only whether they are there."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if not name.startswith("rust/"):
            pages[name] = Page()
            pages[name].feed(path.read_text(encoding="utf-8"))
    faults = []
    seen = 0
    for name, page in pages.items():
        for link in page.links + page.loaded:
            if is_elsewhere(link):
                if link in page.loaded and not link.startswith("data:"):
                    faults.append(f"{name} loads {link}")
                continue
            seen += 1
            target, anchor = target_of(name, urllib.parse.unquote(link))
            if (site / target).is_dir():
                target = posixpath.join(target, "index.html")
            if not (site / target).is_file():
                faults.append(f"{name}: {link} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                faults.append(f"{name}: {link} leads to no heading")
    for path in sorted(site.rglob("*.css")):
        if re.search(r"@import|url\([\"']?(?:https?:)?//", path.read_text(encoding="utf-8")) and "rust" not in path.parts:
            faults.append(f"{path.relative_to(site)} loads something from another host")
    if seen < 500:
        faults.append(f"only {seen} links found")
    if faults:
        sys.exit("\n".join(sorted(set(faults))))
    print(f"{len(pages)} pages with {seen} links within the site, none dead, nothing from another host")


def main():
    arguments = sys.argv[1:]
    if arguments == ["check"]:
        checked_book()
    elif arguments[:1] == ["stage"] and len(arguments) in (2, 4, 6):
        options = dict(zip(arguments[2::2], map(pathlib.Path, arguments[3::2])))
        stage(pathlib.Path(arguments[1]), options.get("--library"), options.get("--notebooks"))
    elif arguments[:1] == ["verify"] and len(arguments) == 2:
        verify(pathlib.Path(arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
