"""What a power cut may leave: from the layer's record (record.h) and the folder as it was before.

Contents: what a file was synced with is there. Of what was written after that, each block of 4096 bytes may be there or
not, and the file may be as long as it ever was, with zeros where nothing arrived.

Names, in one of two ways that the dice choose. "journal": file systems with a journal (ext4, XFS, btrfs) bring changes of
names onto the disk in their order, and each sync brings all before it. "strict": what POSIX promises; each folder on its
own, in order, and only a sync of that folder (or of everything) is a promise; one that moves between folders moves whole.
"""
import json
import os
import re
import shutil

BLOCK = 4096


def snapshot(folder):
    """{name: bytes of a file, None of a folder}; two names of one file share their bytes object."""
    found, files = {".": None}, {}
    for above, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(above, name)
            if os.path.isdir(path):
                found[os.path.relpath(path, folder)] = None
                continue
            inode = os.stat(path).st_ino
            if inode not in files:
                with open(path, "rb") as file:
                    files[inode] = file.read()
            found[os.path.relpath(path, folder)] = files[inode]
    return found


def restore(folder, found):
    """The folder as it was at a snapshot."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    for name in sorted(found):
        path = os.path.join(folder, name)
        if found[name] is None:
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "wb") as file:
                file.write(found[name])


def read_record(path):
    """[(verb, arguments...)]; data has its bytes as the last one."""
    words = re.compile(rb'"((?:[^"\\]|\\.)*)"|(\S+)')
    rows = []
    with open(path, "rb") as file:
        while line := file.readline():
            row = []
            for quoted, plain in words.findall(line):
                text = re.sub(r"\\(.)", r"\1", quoted.decode()) if not plain else plain.decode()
                row.append(text if not plain or not text.isdigit() else int(text))
            if not line.endswith(b"\n"):
                break  # the layer was killed, too
            if row[0] == "data":
                row.append(file.read(row[3]))
                file.read(1)
            rows.append(tuple(row))
    return rows


class State:
    """Folders {number: {name: number}} and files {number: bytes}."""

    def __init__(self, before, rows):
        self.folders, self.files, self.top = {}, {}, None
        for row in rows:
            if row[0] == "have":
                _, number, kind, name = row
                if kind == "folder":
                    self.folders[number] = {}
                else:
                    self.files[number] = bytearray(before[str(name)])
        places = {str(row[3]): row[1] for row in rows if row[0] == "have"}
        self.top = places["."]
        for name, number in places.items():
            if name != ".":
                self.folders[places[os.path.dirname(name) or "."]][os.path.basename(name)] = number

    def make(self, number, kind):
        if kind == "folder":
            self.folders.setdefault(number, {})
        else:
            self.files.setdefault(number, bytearray())

    def apply_name(self, row):
        verb = row[0]
        if verb in ("make", "link"):
            self.folders[row[1]][str(row[2])] = row[3]
        elif verb == "drop":
            self.folders[row[1]].pop(str(row[2]), None)
        else:
            number = self.folders[row[1]].pop(str(row[2]), None)
            if number is not None:
                self.folders[row[3]][str(row[4])] = number

    def write_to(self, folder):
        found = {".": None}

        def walk(number, above):
            for name, child in self.folders[number].items():
                path = os.path.join(above, name) if above else name
                if child in self.folders:
                    found[path] = None
                    walk(child, path)
                else:
                    found[path] = bytes(self.files.get(child, b""))

        walk(self.top, "")
        restore(folder, found)


def folders_of(row):
    return (row[1], row[3]) if row[0] == "move" else (row[1],)


def surviving_names(rows, model, dice):
    """Indices of the changes of names that are on the disk."""
    changes = [i for i, row in enumerate(rows) if row[0] in ("make", "link", "drop", "move")]
    if model == "journal":
        synced = max([i for i, row in enumerate(rows) if row[0] == "sync"], default=-1)
        rest = [i for i in changes if i > synced]
        return {i for i in changes if i <= synced} | set(rest[:dice.randint(0, len(rest))])
    kept = {}  # by folder: how many of its changes
    of = {}
    for i in changes:
        for folder in set(folders_of(rows[i])):
            of.setdefault(folder, []).append(i)
    for folder, own in of.items():
        synced = max([i for i, row in enumerate(rows) if row[0] == "sync" and row[1] in (folder, "*")], default=-1)
        least = sum(i <= synced for i in own)
        kept[folder] = dice.choice((least, dice.randint(least, len(own)), len(own)))
    while True:  # what moves between two folders is in both or in none
        survived = {i for folder, own in of.items() for i in own[:kept[folder]]}
        grown = {folder: max([own.index(i) + 1 for i in own if i in survived], default=0) for folder, own in of.items()}
        if grown == kept:
            return survived
        kept = grown


def settle(content, pending, dice):
    """One file: `content` is on the disk, `pending` was done to it since."""
    way = dice.choice(("nothing", "all", "some", "blocks", "zeros"))
    if way == "nothing" or not pending:
        return content
    if way == "some":
        pending = pending[:dice.randint(0, len(pending))]
    for row in pending:
        if row[0] == "size":
            del content[row[2]:]
            content.extend(bytes(max(0, row[2] - len(content))))
        elif row[0] == "room":
            content.extend(bytes(max(0, row[2] - len(content))))
        else:
            offset, data = row[2], row[4]
            if way in ("all", "some"):
                content.extend(bytes(max(0, offset + len(data) - len(content))))
                content[offset:offset + len(data)] = data
                continue
            end = offset + len(data)
            if way == "zeros":
                content.extend(bytes(max(0, end - len(content))))
                continue
            at = offset
            while at < end:
                to = min(end, (at // BLOCK + 1) * BLOCK)
                if dice.random() < 0.5:
                    content.extend(bytes(max(0, to - len(content))))
                    content[at:to] = data[at - offset:to - offset]
                at = to
    return content


def cut(folder, before, record, dice):
    """Leaves in the folder what the cut may have left; says which model it was."""
    rows = read_record(record)
    if any("?" in map(str, row[1:3]) for row in rows if row[0] in ("make", "link", "drop", "move")):
        raise RuntimeError("a folder that the record doesn't know")
    model = dice.choice(("journal", "strict"))
    survived = surviving_names(rows, model, dice)
    state = State(before, rows)
    pending = {}
    for row in rows:
        if row[0] == "make":
            state.make(row[3], row[4])
        elif row[0] in ("data", "size", "room") and row[1] in state.files:
            pending.setdefault(row[1], []).append(row)
        elif row[0] == "sync":
            for number in list(pending) if row[1] == "*" else [row[1]]:
                for one in pending.pop(number, ()):
                    settle(state.files[number], [one], Sure)
    for number, rest in pending.items():
        state.files[number] = settle(state.files[number], rest, dice)
    for i, row in enumerate(rows):
        if i in survived:
            state.apply_name(row)
    state.write_to(folder)
    return model


class Sure:
    """Dice of what was synced."""

    @staticmethod
    def choice(_):
        return "all"


class Least:
    """Dice of a cut that takes all it may: names by what POSIX promises, and nothing that wasn't synced."""

    @staticmethod
    def choice(ways):
        return "strict" if "strict" in ways else ways[0]

    @staticmethod
    def randint(low, _):
        return low
