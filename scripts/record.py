#!/usr/bin/env python3
"""Records commands in a terminal as an animated SVG, which needs neither script nor network.

usage: record.py OUT.svg STEP...

A STEP is `SECONDS:COMMAND` or `SECONDS:KEYS:COMMAND`. The command is typed at a prompt and runs by `sh -c` in a terminal
of its own for at most so long. It gets one of KEYS each half second: `↓` and `⏎` are the keys of that name, `·` is none,
others themselves; the last one ends it. Environment: RECORD_COLUMNS (100), RECORD_ROWS (28), RECORD_TITLE, RECORD_SHOWN_AS (`FROM=TO`: written at the prompt in place of FROM).
"""

import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

COLUMNS = int(os.environ.get("RECORD_COLUMNS", 100))
ROWS = int(os.environ.get("RECORD_ROWS", 28))
# Of the 16 colours and the two of a terminal; all readable on the ground (contrast 4.5 and more).
GROUND, INK, DIM = "#16181d", "#d7dae0", "#9aa0ab"
COLOURS = ["#7d828c", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d7dae0"]
CELL, LINE, SIZE = 8.4, 18, 14
LONGEST_HOLD, LAST_HOLD = 2.0, 5.0


class Screen:
    """As much of a terminal as the command uses: text, positions, erasure, colours."""

    def __init__(self):
        self.style = ("", "", False, False, False)
        self.clear()
        self.rest = ""

    def clear(self):
        self.cells = [[(" ", ("", "", False, False, False))] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = re.compile(r"\x1b(?:\[([?>=]?)([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78DEHM])").match(text, at)
                if not found:
                    # The rest of it comes with the next bytes.
                    self.rest = text[at:] if len(text) - at < 64 else ""
                    return
                if found.group(3) and not found.group(1):
                    self.control(found.group(3), [int(n or 0) for n in re.split("[;:]", found.group(2))])
                elif found.group(3) and found.group(2) == "1049":
                    self.clear()
                at = found.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, c):
        if c == "\n":
            self.row += 1
        elif c == "\r":
            self.column = 0
        elif c == "\b":
            self.column = max(0, self.column - 1)
        elif c == "\t":
            self.column = min(COLUMNS - 1, self.column // 8 * 8 + 8)
        elif unicodedata.category(c)[0] != "C":
            if self.column >= COLUMNS:
                self.column, self.row = 0, self.row + 1
            self.scroll()
            self.cells[self.row][self.column] = (c, self.style)
            self.column += 1
        self.scroll()

    def scroll(self):
        while self.row >= ROWS:
            self.cells = self.cells[1:] + [[(" ", ("", "", False, False, False))] * COLUMNS]
            self.row -= 1

    def control(self, kind, numbers):
        first = numbers[0] or 1
        empty = (" ", ("", self.style[1], False, False, False))
        if kind in "Hf":
            self.row = min(ROWS, first) - 1
            self.column = min(COLUMNS, (numbers[1] if len(numbers) > 1 else 1) or 1) - 1
        elif kind in "ABCD":
            move = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[kind]
            self.row = min(max(self.row + move[0] * first, 0), ROWS - 1)
            self.column = min(max(self.column + move[1] * first, 0), COLUMNS - 1)
        elif kind == "G":
            self.column = min(COLUMNS, first) - 1
        elif kind == "K":
            span = {0: range(self.column, COLUMNS), 1: range(self.column + 1)}.get(numbers[0], range(COLUMNS))
            for column in span:
                self.cells[self.row][min(column, COLUMNS - 1)] = empty
        elif kind == "J":
            if numbers[0] in (2, 3):
                row, column = self.row, self.column
                self.clear()
                self.row, self.column = row, column
            else:
                self.control("K", [0])
                for row in range(self.row + 1, ROWS):
                    self.cells[row] = [empty] * COLUMNS
        elif kind == "m":
            self.paint(numbers)

    def paint(self, numbers):
        ink, ground, bold, dim, turned = self.style
        at = 0
        while at < len(numbers):
            n = numbers[at]
            if n == 0:
                ink, ground, bold, dim, turned = "", "", False, False, False
            elif n in (1, 2, 7):
                bold, dim, turned = bold or n == 1, dim or n == 2, turned or n == 7
            elif n == 22:
                bold = dim = False
            elif n == 27:
                turned = False
            elif n in (39, 49):
                ink, ground = ("", ground) if n == 39 else (ink, "")
            elif n in (38, 48):
                if numbers[at + 1 : at + 2] == [5]:
                    colour = indexed(numbers[at + 2])
                    at += 2
                else:
                    colour = "#%02x%02x%02x" % tuple(numbers[at + 2 : at + 5])
                    at += 4
                ink, ground = (colour, ground) if n == 38 else (ink, colour)
            elif 30 <= n <= 37 or 90 <= n <= 97:
                ink = COLOURS[n % 10]
            elif 40 <= n <= 47 or 100 <= n <= 107:
                ground = COLOURS[n % 10]
            at += 1
        self.style = (ink, ground, bold, dim, turned)

    def picture(self):
        return tuple(tuple(row) for row in self.cells)


def indexed(n):
    if n < 16:
        return COLOURS[n % 8]
    if n >= 232:
        return "#" + "%02x" % (8 + 10 * (n - 232)) * 3
    levels = (0, 95, 135, 175, 215, 255)
    n -= 16
    return "#%02x%02x%02x" % (levels[n // 36], levels[n // 6 % 6], levels[n % 6])


def run(command, seconds, keys, screen, frames):
    """Runs a command; the pictures of its terminal, each with the instant since its start."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.execvp("sh", ["sh", "-c", command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began, looked, left, ended = time.monotonic(), 0.0, list(keys), False
    while True:
        now = time.monotonic() - began
        if now > seconds + 5:
            os.kill(process, signal.SIGKILL)
        if left and now > 0.5 * (len(keys) - len(left) + 1):
            key = {"↓": "\x1b[B", "⏎": "\r", "·": ""}.get(left[0], left[0])
            left.pop(0)
            ended = not left
            os.write(terminal, key.encode())
        elif not left and now > seconds and not keys:
            os.kill(process, signal.SIGINT)
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                data = b""
            if not data:
                break
            screen.feed(data.decode("utf-8", "replace"))
        # A view that its last key closes is gone afterwards.
        if now - looked >= 0.12 and not ended:
            looked = now
            frames.append((now, screen.picture()))
    os.waitpid(process, 0)
    if not keys:
        frames.append((time.monotonic() - began, screen.picture()))


def record(steps):
    """All pictures, each with how long it stays."""
    screen, shown = Screen(), []
    source, _, target = os.environ.get("RECORD_SHOWN_AS", "=").partition("=")
    for step in steps:
        seconds, *keys, command = step.split(":", 2) if step.count(":") > 1 else step.split(":", 1)
        if screen.column:
            screen.feed("\r\n")
        written = command.replace(source, target) if source else command
        screen.feed("\x1b[32m$\x1b[0m ")
        for part in range(0, len(written), 6):
            screen.feed(written[part : part + 6])
            shown.append((0.12, screen.picture()))
        shown.append((0.6, screen.picture()))
        screen.feed("\r\n")
        frames = []
        run(command, float(seconds), keys[0] if keys else "", screen, frames)
        # How long each differing picture stood.
        for (at, picture), (until, _) in zip(frames, frames[1:]):
            if shown and shown[-1][1] == picture:
                shown[-1] = (min(shown[-1][0] + until - at, LONGEST_HOLD), picture)
            else:
                shown.append((until - at, picture))
        shown.append((LONGEST_HOLD, frames[-1][1]))
    shown[-1] = (LAST_HOLD, shown[-1][1])
    return shown


def row_of(cells):
    """A row as SVG at the height zero: grounds, then runs of text of one style."""
    parts, start = [], 0
    grounds = []
    while start < COLUMNS:
        end = start
        while end < COLUMNS and cells[end][1] == cells[start][1]:
            end += 1
        text, style = "".join(c for c, _ in cells[start:end]), cells[start][1]
        ink, ground, bold, dim, turned = style
        if turned:
            ink, ground = ground or GROUND, ink or INK
        x = f"{start * CELL:g}"
        if ground:
            grounds.append(f'<path fill="{ground}" d="M{x} 0h{(end - start) * CELL:g}v{LINE}H{x}z"/>')
        if text.strip():
            lead = len(text) - len(text.lstrip())
            text, x = text.strip(), f"{(start + lead) * CELL:g}"
            more = f' fill="{ink}"' if ink else (f' fill="{DIM}"' if dim else "")
            more += ' font-weight="bold"' if bold else ""
            # So that columns stay in place whatever the reader's font is.
            width = f'{len(text) * CELL:g}'
            parts.append(f'<text x="{x}" y="13.5" textLength="{width}"{more}>{html.escape(text, quote=False)}</text>')
        start = end
    return "".join(grounds + parts)


def svg(shown, title):
    rows, numbers, frames = [], {}, []
    width, height = COLUMNS * CELL + 24, ROWS * LINE + 24
    total = sum(seconds for seconds, _ in shown)
    places, steps, at = {}, [], 0.0
    for seconds, picture in shown:
        if picture not in places:
            places[picture] = len(places)
            uses = []
            for y, cells in enumerate(picture):
                row = row_of(cells)
                if row:
                    if row not in numbers:
                        numbers[row] = len(rows)
                        rows.append(row)
                    uses.append(f'<use href="#r{numbers[row]}" y="{y * LINE}"/>')
            frames.append(f'<g transform="translate({places[picture] * width:g})">{"".join(uses)}</g>')
        steps.append(f"{100 * at / total:.2f}%{{transform:translateX(-{places[picture] * width:g}px)}}")
        at += seconds
    last = places[shown[-1][1]] * width
    definitions = "".join(f'<g id="r{i}">{row}</g>' for i, row in enumerate(rows))
    # Readers who prefer no motion see the last picture.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img"><title>{html.escape(title)}</title><style>'
        f"text{{font:{SIZE}px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}}"
        f".film{{transform:translateX(-{last:g}px);animation:f {total:.1f}s step-end infinite}}"
        f"@media(prefers-reduced-motion:reduce){{.film{{animation:none}}}}"
        f"@keyframes f{{{''.join(steps)}100%{{transform:translateX(-{last:g}px)}}}}</style>"
        f'<defs>{definitions}</defs><rect width="100%" height="100%" rx="8" fill="{GROUND}"/>'
        f'<svg x="12" y="12" width="{COLUMNS * CELL:g}" height="{ROWS * LINE}" overflow="hidden">'
        f'<g class="film" fill="{INK}">{"".join(frames)}</g></svg></svg>\n'
    )


def main():
    if len(sys.argv) < 3 or any(not re.match(r"[0-9.]+:", step) for step in sys.argv[2:]):
        sys.exit(__doc__.split("\n\n")[1])
    text = svg(record(sys.argv[2:]), os.environ.get("RECORD_TITLE", "A recording of a terminal"))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
