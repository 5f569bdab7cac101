"""What seeds once found, kept as they are: each of these runs went wrong before it was mended."""
import os

import cut

# What went wrong, task, variant, and the runs before the one that nothing disturbs: faults, and what follows them: None, a
# power cut that leaves the "least" (and a file, not empty), "refused" (with those words), or "well" where the run must go on as if nothing had been.
FOUND = (
    ("a close that failed left libhdf5 a file that it crashed on at exit", "predict", "npy", [(["close:model.h5:0:EIO:*", "open:scan.npy:0:EIO:*"], None)]),
    ("a short read made a model none", "predict", "npy", [(["read:model.h5:0:SHORT:1"], "well")]),
    ("an interrupted open was an error", "convert", "npy-tif", [(["open:*:0:EINTR:%2"], "well")]),
    ("an interrupted lock was an error", "train", "one", [(["open:out/model.lock:0:EINTR:1", "size:out/model.lock:0:EINTR:1"], "well")]),
    ("an interrupted sync of all was an error", "convert", "npy-zarr3", [(["sync:*:0:EINTR:%2"], "well")]),
    ("an interrupted close was an error", "convert", "npy-zarr", [(["close:*:0:EINTR:%2"], "well")]),
    ("an interrupted close of a shard was an error", "convert", "npy-zarr3", [(["close:out/.made.zarr.tmp/*/c/*:0:EINTR:%2"], "well")]),
    ("an interrupted line of the log ended a training", "train", "one", [(["write:out/model.log.jsonl:0:EINTR:%2"], "well")]),
    ("an interrupted sync ended a run", "predict", "npy", [(["sync:out/.partial/*:0:EINTR:%2"], "well")]),
    ("libtiff took what was interrupted for damage", "convert", "slices-npy", [(["read:scan/*:0:EINTR:%2"], "well")]),
    ("voxels without their header were in the way", "convert", "mhd-nhdr", [(["rename:out/made.nhdr:0:EIO:1"], None)]),
    ("voxels whose header was killed were in the way", "convert", "mhd-nhdr", [(["rename:out/made.nhdr:0:STOP:1"], None)]),
    ("a project's folder was gone with the power, and confirmed strokes with it", "view", "strokes", [(["close:scan.view/lock*:0:STOP:1"], "least")]),
    ("files of tiles were gone with the power, though tiles were noted as finished", "predict", "tiles-npy", [(["rename:out/scan_prob.npy:0:STOP:1"], "least out/.partial/journal")]),
    ("the journal of a run was gone with the power, and hours with it", "predict", "npy", [(["sync:out/.partial/journal:1:STOP:1"], "least out/.partial/journal")]),
    ("a log of zeros, as a power cut leaves it, was nobody's log", "train", "one", [(["write:out/model.log.jsonl:1:STOP:1"], "zeros out/model.log.jsonl")]),
    ("a folder that couldn't be read any further was taken for an empty one", "predict", "npy",
     [(["write:out/.partial/journal:2:STOP:1"], None), (["list:out:0:EIO:1"], "refused")]),
    ("slices behind a failed listing were missing without a word", "convert", "many-npy", [(["list:scan:2:EIO:1"], "refused"), (["list:scan:4:EIO:1"], "refused")]),
    ("what couldn't be looked at was said to be no plain file", "measure", "usual", [(["look:out/manifest.json:3:EIO:1"], "refused Input/output error")]),
    ("a slice that couldn't be looked at was missing without a word", "convert", "slices-npy", [(["look:scan/s_0039.tif:0:EIO:*"], "refused")]),
)


def aftermath(case, what, before, record):
    """What comes behind a run: None, or what is wrong."""
    verb, _, name = (what or "").partition(" ")
    path = os.path.join(case.folder, name)
    if verb == "least":
        cut.cut(case.folder, before, record, cut.Least)
        return f"{name} is gone" if name and not (os.path.exists(path) and os.path.getsize(path)) else None
    if verb == "zeros":
        size = os.path.getsize(path)
        with open(path, "wb") as file:
            file.write(bytes(size))
    return None


def again(case, runs):
    """None, or what went wrong."""
    for faults, what in runs:
        before, record = cut.snapshot(case.folder), case.folder + ".record"
        ended = case.run(faults, record)
        wrong = ended.complaint()
        if wrong:
            return wrong
        if not ended.faults:
            return f"nothing met {faults}"
        if what == "well":
            return f"not carried on: {ended.err[-300:]}" if ended.code != 0 else case.finish() if case.name == "view" else case.compare()
        if (what or "").startswith("refused") and (ended.code != 1 or what[len("refused "):] not in ended.sentence()):
            return f"not refused so: {ended.code} {ended.sentence()}"
        if (wrong := aftermath(case, what, before, record)) is not None:
            return wrong
    return case.finish()
