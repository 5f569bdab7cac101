#!/usr/bin/env python3
"""Isosurfaces of one field by credence, scikit-image and VTK, each in a process of its own: CPU seconds, wall seconds,
largest memory, triangles, and whether the mesh is closed.

    python3 bench/surface.py --edge 512 --program build/credence [--only credence,skimage,vtk-flying-edges,...]

The field is a smooth Gaussian one (sigma 4 voxels) through a sigmoid, as a probability map looks. Peers that aren't
installed are left out, with a line.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

PEERS = ("credence", "credence-1-thread", "skimage", "vtk-flying-edges", "vtk-marching-cubes", "credence-decimate", "vtk-decimate")


def make_field(path, edge):
    import numpy as np
    generator = np.random.default_rng(3)
    k, half = np.fft.fftfreq(edge).astype("f4"), np.fft.rfftfreq(edge).astype("f4")
    spectrum = np.fft.rfftn(generator.standard_normal((edge,) * 3).astype("f4")).astype("c8")
    for z in range(edge):
        square = k[z] ** 2 + k[:, None] ** 2 + half[None, :] ** 2
        spectrum[z] *= np.exp(-square * (2 * np.pi ** 2) * 16.0)
    field = np.fft.irfftn(spectrum, s=(edge,) * 3, axes=(0, 1, 2)).astype("f4")
    field /= field.std()
    np.save(path, (1 / (1 + np.exp(-3 * field))).astype("f4"))


def by_skimage(path, folder):
    import numpy as np
    from skimage.measure import marching_cubes
    vertices, faces, _, _ = marching_cubes(np.load(path), 0.5)
    return len(faces)


def vtk_image(path):
    import numpy as np
    import vtk
    from vtk.util.numpy_support import numpy_to_vtk
    values = np.load(path)
    image = vtk.vtkImageData()
    image.SetDimensions(*values.shape[::-1])
    array = numpy_to_vtk(values.ravel(), deep=False)
    image.GetPointData().SetScalars(array)
    return image, values, array


def by_vtk(path, folder, which, decimate=False):
    import vtk
    image, values, array = vtk_image(path)
    filter = vtk.vtkFlyingEdges3D() if which == "flying-edges" else vtk.vtkMarchingCubes()
    filter.SetInputData(image)
    filter.SetValue(0, 0.5)
    filter.ComputeNormalsOff()
    filter.ComputeGradientsOff()
    filter.Update()
    mesh = filter.GetOutput()
    if decimate:
        less = vtk.vtkQuadricDecimation()
        less.SetInputData(mesh)
        less.SetTargetReduction(0.9)
        less.Update()
        mesh = less.GetOutput()
    writer = vtk.vtkXMLPolyDataWriter()
    writer.SetFileName(os.path.join(folder, "vtk.vtp"))
    writer.SetDataModeToAppended()
    writer.EncodeAppendedDataOff()
    writer.SetCompressorTypeToNone()
    writer.SetInputData(mesh)
    writer.Write()
    return mesh.GetNumberOfPolys()


def by_credence(program, path, folder, options):
    out = subprocess.run([program, "surface", path, "-o", os.path.join(folder, "mesh.vtp"), "--json", "-q", "--open", *options],
                         check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["triangles"]


def measure(peer, program, path, folder):
    """In this process, which is for this alone."""
    begin = time.perf_counter()
    if peer == "skimage":
        triangles = by_skimage(path, folder)
    elif peer.startswith("vtk"):
        triangles = by_vtk(path, folder, peer[4:], peer == "vtk-decimate")
    else:
        options = {"credence": [], "credence-1-thread": ["--threads", "1"], "credence-decimate": ["--decimate", "0.1"]}[peer]
        triangles = by_credence(program, path, folder, options)
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = children if peer.startswith("credence") else own
    print(json.dumps({"peer": peer, "triangles": triangles, "wall": time.perf_counter() - begin, "user": used.ru_utime,
                      "system": used.ru_stime, "memory": used.ru_maxrss / 2 ** 20}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=int, default=256)
    parser.add_argument("--program", default="build/credence")
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--field", help="a .npy volume in place of the made one")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.program, arguments.field, os.path.dirname(arguments.field))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.field or os.path.join(folder, "field.npy")
        if not arguments.field:
            make_field(path, arguments.edge)
        print(f"{'':20} {'triangles':>10} {'wall s':>8} {'user s':>8} {'system s':>8} {'GiB':>6}")
        for peer in arguments.only.split(","):
            done = subprocess.run([sys.executable, __file__, "--measure", peer, "--field", path, "--program", arguments.program],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                print(f"{peer:20} left out: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
                continue
            got = json.loads(done.stdout)
            print(f"{peer:20} {got['triangles']:10} {got['wall']:8.2f} {got['user']:8.2f} {got['system']:8.2f} {got['memory']:6.2f}",
                  flush=True)


if __name__ == "__main__":
    main()
