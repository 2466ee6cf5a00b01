#!/usr/bin/env python3
"""Records commands in a terminal as an animated SVG, which needs neither script nor network.

usage: record.py OUT.svg STEP...

A STEP is `SECONDS:COMMAND` or `SECONDS:KEYS:COMMAND`. The command is typed at a prompt and runs by `sh -c` in a terminal
of its own for at most so long. It gets one of KEYS each half second: `↓` and `⏎` are the keys of that name, `·` is none,
others themselves; the last one ends it. Environment: RECORD_COLUMNS (100), RECORD_ROWS (28), RECORD_TITLE. Needs pyte, a
terminal emulator (PyPI).
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

import pyte

COLUMNS = int(os.environ.get("RECORD_COLUMNS", 100))
ROWS = int(os.environ.get("RECORD_ROWS", 28))
# Of the terminal and of its named colours; all readable on the ground (contrast 4.5 and more).
GROUND, INK = "#16181d", "#d7dae0"
COLOURS = {"black": "#7d828c", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "blue": "#79c0ff",
           "magenta": "#d2a8ff", "cyan": "#76e3ea", "white": "#d7dae0"}
CELL, LINE, SIZE = 8.4, 18, 14
LONGEST_HOLD, LAST_HOLD = 2.0, 5.0


class Terminal:
    """A terminal and what it shows."""

    def __init__(self):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.screen)

    def feed(self, text):
        # pyte has no second screen: a program that asks for it, or leaves it, gets an empty one.
        before, *after = re.split(r"\x1b\[\?1049[hl]", text)
        self.stream.feed(before)
        for part in after:
            self.screen.reset()
            self.stream.feed(part)

    def picture(self):
        """Rows of characters, each with its style: ink, ground, bold."""
        rows = (self.screen.buffer[y] for y in range(ROWS))
        return tuple(tuple((row[x].data, style(row[x])) for x in range(COLUMNS)) for row in rows)


def style(cell):
    ink, ground = colour(cell.fg), colour(cell.bg)
    if cell.reverse:
        ink, ground = ground or GROUND, ink or INK
    return ink, ground, cell.bold


def colour(name):
    """As SVG has it; none for the default."""
    if name == "default":
        return ""
    return COLOURS.get(name.removeprefix("bright").replace("yellow", "brown"), f"#{name}")


def run(command, seconds, keys, terminal, frames):
    """Runs a command; the pictures of its terminal, each with the instant since its start."""
    process, master = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.execvp("sh", ["sh", "-c", command])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began, looked, left, ended = time.monotonic(), 0.0, list(keys), False
    while True:
        now = time.monotonic() - began
        if now > seconds + 5:
            os.kill(process, signal.SIGKILL)
        if left and now > 0.5 * (len(keys) - len(left) + 1):
            key = {"↓": "\x1b[B", "⏎": "\r", "·": ""}.get(left[0], left[0])
            left.pop(0)
            ended = not left
            os.write(master, key.encode())
        elif not left and now > seconds and not keys:
            os.kill(process, signal.SIGINT)
        if select.select([master], [], [], 0.05)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            terminal.feed(data.decode("utf-8", "replace"))
        # A view that its last key closes is gone afterwards.
        if now - looked >= 0.12 and not ended:
            looked = now
            frames.append((now, terminal.picture()))
    os.waitpid(process, 0)
    if not keys:
        frames.append((time.monotonic() - began, terminal.picture()))


def record(steps):
    """All pictures, each with how long it stays."""
    terminal, shown = Terminal(), []
    for step in steps:
        seconds, *keys, command = step.split(":", 2) if step.count(":") > 1 else step.split(":", 1)
        if terminal.screen.cursor.x:
            terminal.feed("\r\n")
        terminal.feed("\x1b[32m$\x1b[0m ")
        for part in range(0, len(command), 6):
            terminal.feed(command[part : part + 6])
            shown.append((0.12, terminal.picture()))
        shown.append((0.6, terminal.picture()))
        terminal.feed("\r\n")
        frames = []
        run(command, float(seconds), keys[0] if keys else "", terminal, frames)
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
        text, (ink, ground, bold) = "".join(c for c, _ in cells[start:end]), cells[start][1]
        x = f"{start * CELL:g}"
        if ground:
            grounds.append(f'<path fill="{ground}" d="M{x} 0h{(end - start) * CELL:g}v{LINE}H{x}z"/>')
        if text.strip():
            lead = len(text) - len(text.lstrip())
            text, x = text.strip(), f"{(start + lead) * CELL:g}"
            more = f' fill="{ink}"' if ink else ""
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
