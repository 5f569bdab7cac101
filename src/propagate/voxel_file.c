#include "propagate/voxel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "volume/format.h"

#define VTI ".vti"

const crd_solver crd_solvers[] = {
    {"tiff", ".tif", "a TIFF file of 8-bit slices"},
    {"raw", ".mhd", "a MetaImage header, and beside it NAME.raw: bytes, x fastest, without any header"},
    {"vti", VTI, "VTK image data"},
    {"npy", ".npy", "numpy.load(file): an array (z, y, x)"},
    {"nrrd", ".nrrd", "NRRD, for ITK and 3D Slicer"},
    {"hdf5", ".h5", "HDF5, dataset /data"},
    {"taufactor", ".tif", "taufactor.Solver(tifffile.imread(file)): the phase that conducts is 1"},
    {"porespy", ".npy", "porespy takes numpy.load(file).astype(bool)"},
    {"puma", ".tif", "pumapy.import_3Dtiff(file, voxel_length), cutoff (1, 1) for the phase"},
    {"geodict", ".mhd", "GeoDict imports NAME.raw as 8-bit voxels, with the sizes of NAME.mhd"},
    {"openlbm", VTI, "OpenLBM's BlockVTIreader3D, array \"phase\": its values are material numbers"},
    {"paraview", VTI, "ParaView, array \"phase\""},
    {NULL, NULL, NULL},
};

crd_status crd_solver_of(const char *name, const crd_solver **out)
{
    crd_status status = CRD_OK;
    crd_text names = {0};
    char *list = NULL;
    for (const crd_solver *s = crd_solvers; s->name != NULL; s++) {
        if (strcmp(s->name, name) == 0) {
            *out = s;
            goto done;
        }
        crd_text_print(&names, "%s%s", s == crd_solvers ? "" : ", ", s->name);
    }
    CRD_TRY(crd_text_finish(&names, &list));
    status = crd_fail(CRD_ERR_ARGUMENT, "solver must be one of %s, not '%s'", list, name);
done:
    crd_text_free(&names);
    crd_free(&list);
    return status;
}

crd_status crd_check_solver(const char *name, const char *text)
{
    const crd_solver *solver = NULL;
    (void)name;
    return crd_solver_of(text, &solver);
}

/* A volume of a format that credence knows, or VTK image data, which it only writes here. */
struct crd_voxel_file {
    crd_volume_info info;
    int64_t next; /* slice */
    crd_volume *volume;
    char *path, *temporary;
    int fd; /* of VTK image data; -1: none */
    int64_t bytes;
};

/* XML with the voxels behind it, their number in 8 bytes in front. Points are the middles of voxels. */
static crd_status write_head(crd_voxel_file *f)
{
    const crd_volume_info *info = &f->info;
    const bool known = info->spacing[0] > 0;
    const int64_t voxels = info->shape[0] * info->shape[1] * info->shape[2];
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *head = NULL, length[8], extent[160];
    snprintf(extent, sizeof extent, "0 %lld 0 %lld 0 %lld", (long long)info->shape[2] - 1,
             (long long)info->shape[1] - 1, (long long)info->shape[0] - 1);
    crd_text_add(&text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" "
                        "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n");
    crd_text_print(&text, "<ImageData WholeExtent=\"%s\" Origin=\"", extent);
    for (int axis = 2; axis >= 0; axis--) {
        crd_text_real(&text, (double)info->origin[axis] * (known ? info->spacing[axis] : 1.0));
        crd_text_add(&text, axis > 0 ? " " : "\" Spacing=\"");
    }
    for (int axis = 2; axis >= 0; axis--) {
        crd_text_real(&text, known ? info->spacing[axis] : 1.0);
        crd_text_add(&text, axis > 0 ? " " : "\">\n");
    }
    crd_text_print(&text,
                   "<Piece Extent=\"%s\">\n<PointData Scalars=\"phase\">\n<DataArray type=\"UInt8\" Name=\"phase\" "
                   "format=\"appended\" offset=\"0\"/>\n</PointData>\n</Piece>\n</ImageData>\n"
                   "<AppendedData encoding=\"raw\">\n_",
                   extent);
    for (int i = 0; i < 8; i++) length[i] = (char)(uint8_t)((uint64_t)voxels >> 8 * i);
    crd_text_add_bytes(&text, length, sizeof length);
    f->bytes = text.length;
    CRD_TRY(crd_text_finish(&text, &head));
    CRD_TRY(crd_write_at(f->fd, f->path, 0, head, (size_t)f->bytes));
done:
    crd_text_free(&text);
    crd_free(&head);
    return status;
}

static crd_status create_vti(crd_voxel_file *f, const char *path)
{
    CRD_PASS(crd_check_target(path));
    CRD_PASS(crd_strdup(path, &f->path));
    CRD_PASS(crd_temporary_name(path, &f->temporary));
    f->fd = crd_open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (f->fd < 0) return crd_fail_errno("can't create %s", f->temporary);
    return write_head(f);
}

crd_status crd_voxel_file_create(const char *path, const crd_solver *solver, const crd_volume_info *info,
                                 crd_voxel_file **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "a file of voxels", out));
    (*out)->info = *info;
    (*out)->fd = -1;
    const crd_status status = strcmp(solver->suffix, VTI) == 0
                                  ? create_vti(*out, path)
                                  : crd_volume_create_over(path, info, NULL, &(*out)->volume);
    if (status != CRD_OK) crd_voxel_file_close(out);
    return status;
}

crd_status crd_voxel_file_write(crd_voxel_file *f, const uint8_t *slice)
{
    const crd_box box = {.origin = {f->next++, 0, 0}, .size = {1, f->info.shape[1], f->info.shape[2]}};
    const int64_t voxels = box.size[1] * box.size[2];
    if (f->volume != NULL) return crd_volume_write(f->volume, &box, slice);
    CRD_PASS(crd_write_at(f->fd, f->path, f->bytes, slice, (size_t)voxels));
    f->bytes += voxels;
    return CRD_OK;
}

crd_status crd_voxel_file_commit(crd_voxel_file *f)
{
    static const char tail[] = "\n</AppendedData>\n</VTKFile>\n";
    if (f->volume != NULL) return crd_volume_commit(f->volume);
    CRD_PASS(crd_write_at(f->fd, f->path, f->bytes, tail, sizeof tail - 1));
    const int fd = f->fd;
    f->fd = -1;
    CRD_PASS(crd_sync_and_close(fd, f->path));
    CRD_PASS(crd_replace_file(f->temporary, f->path));
    crd_free(&f->temporary);
    return CRD_OK;
}

void crd_voxel_file_close(crd_voxel_file **file)
{
    crd_voxel_file *f = *file;
    if (f == NULL) return;
    crd_volume_close(&f->volume);
    if (f->fd >= 0) (void)close(f->fd);
    if (f->temporary != NULL) (void)unlink(f->temporary);
    crd_free(&f->temporary);
    crd_free(&f->path);
    crd_free(file);
}

crd_status crd_voxel_file_remove(const char *path)
{
    if (!crd_path_ends_in(path, VTI)) return crd_volume_remove(path);
    if (unlink(path) != 0 && errno != ENOENT) return crd_fail_errno("can't remove %s", path);
    return CRD_OK;
}
