"""Surfaces as other programs see them: VTK (what ParaView reads with), trimesh and MeshLab open PLY, STL and VTP, and find closed,
oriented meshes of the right Euler number, volume and area; fields are compared with their own isosurfaces. VTK also opens
exported image data. A client that isn't installed is skipped; without any, the whole test is."""
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile

CLIENTS = {}
for name in "vtk", "trimesh", "pymeshlab":
    try:
        CLIENTS[name] = importlib.import_module(name)
    except ImportError as missing:
        print(f"without {name}: {missing}")
try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
if not CLIENTS:
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def near(value, expected, tolerance, what):
    check(abs(value / expected - 1) <= tolerance, f"{what} is {value}, not {expected}")


def credence(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    check(done.returncode == 0, f"{words}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def shapes():
    """name: (field, volume, area, Euler number of the surface); None where no formula says it, and of a box that has its
    edges cut off by the grid no area."""
    z, y, x = (np.mgrid[:64, :64, :64] - np.array([31.3, 30.9, 31.6]).reshape(3, 1, 1, 1)).astype("f8")
    ball = 20 - np.sqrt(z ** 2 + y ** 2 + x ** 2)
    torus = 8 - np.sqrt((np.sqrt(y ** 2 + x ** 2) - 18) ** 2 + z ** 2)
    box = 15.25 - np.maximum(np.maximum(abs(z), abs(y)), abs(x))
    k = 2 * math.pi / 32
    gyroid = np.sin(k * x) * np.cos(k * y) + np.sin(k * y) * np.cos(k * z) + np.sin(k * z) * np.cos(k * x)
    noise = np.random.default_rng(1).random((31, 33, 35)) - 0.5
    steps = np.random.default_rng(2).integers(-1, 2, (21, 22, 23)) / 2  # samples that equal the level
    return {"ball": (ball, 4 / 3 * math.pi * 8000, 4 * math.pi * 400, 2),
            "torus": (torus, 2 * math.pi ** 2 * 18 * 64, 4 * math.pi ** 2 * 18 * 8, 0),
            "box": (box, 30.5 ** 3, None, 2), "gyroid": (gyroid, 64 ** 3 / 2, None, None),
            "noise": (noise, None, None, None), "steps": (steps, None, None, None)}


def look_with_trimesh(path):
    mesh = CLIENTS["trimesh"].load(path, process=False)
    if path.endswith(".stl"):
        mesh.merge_vertices()
    check(mesh.is_watertight and mesh.is_winding_consistent and mesh.is_volume, f"trimesh: {path} isn't closed")
    return mesh.volume, mesh.area, mesh.euler_number


def vtk_mesh(path):
    vtk = CLIENTS["vtk"]
    reader = {"ply": vtk.vtkPLYReader, "stl": vtk.vtkSTLReader, "vtp": vtk.vtkXMLPolyDataReader}[path[-3:]]()
    reader.SetFileName(path)
    reader.Update()
    return reader.GetOutput()


def look_with_vtk(path):
    vtk, mesh = CLIENTS["vtk"], vtk_mesh(path)
    edges = vtk.vtkFeatureEdges()
    edges.SetInputData(mesh)
    edges.FeatureEdgesOff()
    edges.BoundaryEdgesOn()
    edges.NonManifoldEdgesOn()
    edges.ManifoldEdgesOff()
    edges.Update()
    check(edges.GetOutput().GetNumberOfCells() == 0, f"VTK: {path} has open edges, or such of more than two triangles")
    sums = vtk.vtkMassProperties()
    sums.SetInputData(mesh)
    sums.Update()
    points, triangles = mesh.GetNumberOfPoints(), mesh.GetNumberOfPolys()
    return sums.GetVolume(), sums.GetSurfaceArea(), points - triangles // 2


def look_with_meshlab(path):
    meshes = CLIENTS["pymeshlab"].MeshSet()
    meshes.load_new_mesh(path)
    if path.endswith(".stl"):
        meshes.meshing_remove_duplicate_vertices()
    topology, geometry = meshes.get_topological_measures(), meshes.get_geometric_measures()
    check(topology["boundary_edges"] == 0 and topology["non_two_manifold_edges"] == 0, f"MeshLab: {path} isn't closed")
    euler = topology["vertices_number"] - topology["edges_number"] + topology["faces_number"]
    return geometry["mesh_volume"], geometry["surface_area"], euler


LOOKS = {"vtk": look_with_vtk, "trimesh": look_with_trimesh, "pymeshlab": look_with_meshlab}


def test_shapes(folder):
    for name, (field, volume, area, euler) in shapes().items():
        source = f"{folder}/{name}.npy"
        np.save(source, (0.5 + 0.1 * field).astype("f4"))
        json.dump({"spacing": [1, 1, 1], "unit": "um"}, open(source + ".json", "w"))
        for kind in "ply", "stl", "vtp":
            path = f"{folder}/{name}.{kind}"
            said = credence("surface", source, "-o", path, "--json", "-q")
            for client, look in LOOKS.items():
                if client not in CLIENTS or (client != "vtk" and kind == "vtp"):
                    continue
                found = look(path)
                near(found[0], said["volume"], 1e-4, f"{client}: volume of {path}")
                near(found[1], said["area"], 1e-4, f"{client}: area of {path}")
                check(found[2] == said["euler_number"], f"{client}: Euler number {found[2]} of {path}")
                if volume:
                    near(found[0], volume, 0.004, f"{client}: volume of {name}")
                if area:
                    near(found[1], area, 0.004, f"{client}: area of {name}")
                if euler is not None:
                    check(found[2] == euler, f"{client}: {name} has the Euler number {found[2]}")
        less = credence("surface", source, "-o", f"{folder}/less.ply", "--json", "-q", "--decimate", "0.3")
        for client, look in LOOKS.items():
            if client in CLIENTS:
                found = look(f"{folder}/less.ply")
                check(found[2] == said["euler_number"], f"{client}: {name} is another surface when decimated")
                if volume:
                    near(found[0], volume, 0.01, f"{client}: volume of {name}, decimated")
        check(less["triangles"] < 0.5 * said["triangles"], f"{name} isn't decimated: {less['triangles']}")


def test_against_vtk(folder):
    """The same vertices as VTK's own marching cubes where no sample is at the level: only diagonals differ."""
    vtk = CLIENTS["vtk"]
    from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy
    field = np.random.default_rng(5).random((18, 20, 22)).astype("f4")
    field = (field + np.roll(field, 1, 0) + np.roll(field, 1, 1) + np.roll(field, 1, 2)) / 4
    np.save(f"{folder}/field.npy", field)
    credence("surface", f"{folder}/field.npy", "-o", f"{folder}/field.vtp", "--open", "-q")
    own = vtk_to_numpy(vtk_mesh(f"{folder}/field.vtp").GetPoints().GetData())
    image = vtk.vtkImageData()
    image.SetDimensions(22, 20, 18)
    image.GetPointData().SetScalars(numpy_to_vtk(field.ravel(), deep=True))
    cubes = vtk.vtkMarchingCubes()
    cubes.SetInputData(image)
    cubes.SetValue(0, 0.5)
    cubes.Update()
    other = vtk_to_numpy(cubes.GetOutput().GetPoints().GetData())
    check(len(own) == len(other), f"{len(own)} vertices, VTK has {len(other)}")

    def by_edge(places):
        """Sorted by the edge of the grid that they lie on: its axis, and where it begins."""
        axis = abs(places - np.round(places)).argmax(1)
        begin = np.round(places)
        begin[np.arange(len(places)), axis] = np.floor(places)[np.arange(len(places)), axis]
        return places[np.lexsort((axis, *begin.T))]

    # Ours stay 1/256 of an edge away from samples.
    check(abs(by_edge(own) - by_edge(other)).max() < 1 / 256 + 1e-5, "vertices lie elsewhere than VTK's")
    check((abs(own - np.round(own)).max(1) > 1 / 257).all(), "a vertex lies on a sample")


def test_vertex_data(folder):
    from vtk.util.numpy_support import vtk_to_numpy
    run = f"{folder}/run"
    os.makedirs(run)
    x = np.mgrid[:10, :11, :40][2]
    prob = np.clip(0.5 + (20.3 - x) * 0.04, 0, 1).astype("f4")
    for name, values in (("prob", prob), ("seg", (prob > 0.5).astype("u1")), ("unc", np.full_like(prob, 0.1))):
        np.save(f"{run}/s_{name}.npy", values)
        json.dump({"spacing": [2, 0.5, 0.5], "unit": "um"}, open(f"{run}/s_{name}.npy.json", "w"))
    for kind in "vtp", "ply":
        credence("surface", run, "-o", f"{folder}/run.{kind}", "-q")
    data = vtk_mesh(f"{folder}/run.vtp").GetPointData()
    found = {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}
    places = vtk_to_numpy(vtk_mesh(f"{folder}/run.vtp").GetPoints().GetData())
    face = places[:, 0] > 10.1
    check(set(found) == {"probability", "uncertainty", "displacement"}, f"vertex data are {set(found)}")
    check(abs(places[face][:, 0] - 10.15).max() < 1e-4, "the plane lies elsewhere")
    check(abs(found["displacement"][face] - 1.25).max() < 1e-3, "the displacement isn't that of the plane")
    check(vtk_mesh(f"{folder}/run.ply").GetNumberOfPoints() == len(places), "PLY and VTP differ")


def test_image_data(folder):
    vtk = CLIENTS["vtk"]
    from vtk.util.numpy_support import vtk_to_numpy
    labels = np.random.default_rng(6).integers(0, 2, (5, 6, 7)).astype("u1")
    np.save(f"{folder}/labels.npy", labels)
    json.dump({"spacing": [2, 0.5, 0.25], "unit": "um"}, open(f"{folder}/labels.npy.json", "w"))
    credence("export", f"{folder}/labels.npy", "--solver", "vti", "-o", f"{folder}/vti", "-q")
    reader = vtk.vtkXMLImageDataReader()
    reader.SetFileName(f"{folder}/vti/segmentation.vti")
    reader.Update()
    image = reader.GetOutput()
    check(image.GetDimensions() == (7, 6, 5) and image.GetSpacing() == (0.25, 0.5, 2), "the image has another geometry")
    check((vtk_to_numpy(image.GetPointData().GetArray("phase")).reshape(5, 6, 7) == labels).all(), "and other voxels")


with tempfile.TemporaryDirectory() as folder:
    test_shapes(folder)
    if "vtk" in CLIENTS:
        test_against_vtk(folder)
        test_vertex_data(folder)
        test_image_data(folder)
sys.exit(1 if failures else 0)
