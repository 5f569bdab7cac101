/* The reference numbers of an independent float64 implementation, loaded whole: f = 8, two classes, batch 2, chunk
 * 16x32x24. tests/data/make_reference.py tells what the files in the tree hold; CREDENCE_SHARED names a folder with the
 * full ones, and with those of other networks: three classes on chunks of 16x24x16, and f = 16. */
#ifndef CRD_TESTS_REFERENCE_DATA_H
#define CRD_TESTS_REFERENCE_DATA_H

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bayes/noise.h"
#include "compare.h"
#include "net/net.h"

enum {
    REFERENCE_BATCH = 2, /* at most; of the cases that every checkout has, just so many */
    REFERENCE_VOXELS = 16 * 32 * 24,
    REFERENCE_ADAM_STEPS = 6
};

typedef struct reference_tensor { /* every `stride`-th value of a tensor, and measures of the whole of it */
    int64_t count, stride;
    double *values;
    double sum, norm, largest;
} reference_tensor;

typedef struct reference_case {
    crd_net net;
    int64_t chunk[3], voxels;
    float *model; /* model layout */
    float *input; /* [batch][voxels] */
    uint8_t *label;
    double *mean_probability, *noisy_probability; /* [batch][crd_net_planes][voxels] */
    double noisy_bce;
    int batch;                        /* examples */
    crd_noise noise[REFERENCE_BATCH]; /* BCNN; one eps for the whole batch */
    float *masks[REFERENCE_BATCH];    /* MCDN, else NULL */
    reference_tensor gradient_bce[CRD_PARAMETERS_MAX];
    double kl;
    reference_tensor gradient_kl[CRD_PARAMETERS_MAX]; /* count 0 where there is none */
    double adam_m;
    double adam[REFERENCE_ADAM_STEPS][2]; /* bce and loss before each step */
} reference_case;

/* Reads a dataset of `count` values into a new array of the native type; ends the program where that fails: a test
 * without its data tests nothing. */
static inline void *reference_read(hid_t file, const char *path, hid_t type, int64_t count)
{
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    const hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    void *values = NULL;
    if (space >= 0 && H5Sget_simple_extent_npoints(space) == count) {
        values = malloc((size_t)count * H5Tget_size(type));
        if (values != NULL && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
            free(values);
            values = NULL;
        }
    }
    if (space >= 0) H5Sclose(space);
    if (dataset >= 0) H5Dclose(dataset);
    if (values == NULL) {
        printf("the reference data lacks %s with %lld values\n", path, (long long)count);
        exit(1);
    }
    return values;
}

static inline double reference_attribute(hid_t object, const char *name)
{
    double value = 0;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0 || H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0) {
        printf("the reference data lacks the attribute %s\n", name);
        exit(1);
    }
    H5Aclose(attribute);
    return value;
}

static inline double reference_scalar(hid_t file, const char *path)
{
    double *value = reference_read(file, path, H5T_NATIVE_DOUBLE, 1), copy = *value;
    free(value);
    return copy;
}

/* One whose values are all there. */
static inline reference_tensor reference_whole_tensor(double *values, int64_t count)
{
    reference_tensor tensor = {.count = count, .stride = 1, .values = values};
    for (int64_t i = 0; i < count; i++) {
        tensor.sum += values[i];
        tensor.norm += values[i] * values[i];
        tensor.largest = worse(tensor.largest, fabs(values[i]));
    }
    tensor.norm = sqrt(tensor.norm);
    return tensor;
}

static inline reference_tensor reference_read_tensor(hid_t file, const char *path, int64_t count)
{
    reference_tensor tensor = {.count = count, .stride = 1};
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset >= 0 && H5Aexists(dataset, "stride") > 0) {
        tensor.stride = (int64_t)reference_attribute(dataset, "stride");
        tensor.sum = reference_attribute(dataset, "sum");
        tensor.norm = reference_attribute(dataset, "norm");
        tensor.largest = reference_attribute(dataset, "largest");
    }
    if (dataset >= 0) H5Dclose(dataset);
    tensor.values = reference_read(file, path, H5T_NATIVE_DOUBLE, (count + tensor.stride - 1) / tensor.stride);
    return tensor.stride > 1 ? tensor : reference_whole_tensor(tensor.values, count);
}

static inline void reference_read_noise(hid_t file, reference_case *c)
{
    char path[128];
    for (int i = 0; i < c->net.layer_count; i++) {
        const crd_conv_layer *layer = &c->net.layers[i];
        if (!layer->bayesian) continue;
        const int64_t taps = layer->kernel * layer->kernel * layer->kernel;
        snprintf(path, sizeof path, "noisy/noise/%s/eps", layer->path);
        const float *eps =
            reference_read(file, path, H5T_NATIVE_FLOAT, taps * layer->channels_in * layer->channels_out);
        snprintf(path, sizeof path, "noisy/noise/%s/sign_in", layer->path);
        const float *in = reference_read(file, path, H5T_NATIVE_FLOAT, c->batch * layer->channels_in);
        snprintf(path, sizeof path, "noisy/noise/%s/sign_out", layer->path);
        const float *out = reference_read(file, path, H5T_NATIVE_FLOAT, c->batch * layer->channels_out);
        for (int b = 0; b < c->batch; b++) {
            c->noise[b].eps[i] = eps;
            c->noise[b].sign_in[i] = in + b * layer->channels_in;
            c->noise[b].sign_out[i] = out + b * layer->channels_out;
        }
    }
}

static inline void reference_read_masks(hid_t file, reference_case *c)
{
    static const char *const sites[] = {"latent", "decoder/3", "decoder/2", "decoder/1"};
    for (int b = 0; b < c->batch; b++) c->masks[b] = malloc((size_t)c->net.mask_total * sizeof(float));
    for (int i = 0; i < c->net.mask_count; i++) {
        char path[128];
        snprintf(path, sizeof path, "noisy/noise/%s/mask", sites[i]);
        const int64_t channels = c->net.mask_channels[i];
        float *mask = reference_read(file, path, H5T_NATIVE_FLOAT, c->batch * channels);
        for (int b = 0; b < c->batch; b++)
            memcpy(c->masks[b] + c->net.mask_offset[i], mask + b * channels, (size_t)channels * sizeof(float));
        free(mask);
    }
}

/* Probabilities [batch][voxels][planes] of the file as the planes that networks give. */
static inline double *reference_read_planes(hid_t file, const char *path, int64_t batch, int64_t voxels, int64_t planes)
{
    double *values = reference_read(file, path, H5T_NATIVE_DOUBLE, batch * voxels * planes);
    if (planes == 1) return values;
    double *apart = malloc((size_t)(batch * voxels * planes) * sizeof *apart);
    for (int64_t i = 0; apart != NULL && i < batch * voxels * planes; i++) {
        const int64_t voxel = i / planes % voxels, example = i / planes / voxels;
        apart[(example * planes + i % planes) * voxels + voxel] = values[i];
    }
    free(values);
    return apart;
}

/* The sizes of the case, from the file's attributes and its input. */
static inline bool reference_read_sizes(hid_t file, crd_kind kind, reference_case *c)
{
    hsize_t sizes[4] = {0};
    const int filters = (int)reference_attribute(file, "filters"), groups = (int)reference_attribute(file, "groups");
    const int classes = H5Aexists(file, "classes") > 0 ? (int)reference_attribute(file, "classes") : 2;
    const hid_t input = H5Dopen2(file, "input", H5P_DEFAULT), space = input >= 0 ? H5Dget_space(input) : -1;
    const bool found = space >= 0 && H5Sget_simple_extent_ndims(space) == 4 &&
                       H5Sget_simple_extent_dims(space, sizes, NULL) == 4 && sizes[0] >= 1 &&
                       sizes[0] <= REFERENCE_BATCH;
    if (space >= 0) H5Sclose(space);
    if (input >= 0) H5Dclose(input);
    c->batch = (int)sizes[0];
    c->voxels = 1;
    for (int axis = 0; axis < 3; axis++) c->voxels *= c->chunk[axis] = (int64_t)sizes[axis + 1];
    return found && crd_net_describe_classes(kind, filters, groups, classes, &c->net) == CRD_OK;
}

/* The case in a file, or NULL where there is no such file. */
static inline reference_case *reference_load_file(crd_kind kind, const char *path)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return NULL;
    reference_case *c = calloc(1, sizeof *c);
    if (c == NULL || !reference_read_sizes(file, kind, c)) {
        printf("the reference data %s holds no such network\n", path);
        exit(1);
    }
    char name[128];
    const int64_t voxels = c->batch * c->voxels, planes = crd_net_planes(&c->net);
    c->input = reference_read(file, "input", H5T_NATIVE_FLOAT, voxels);
    c->label = reference_read(file, "label", H5T_NATIVE_UINT8, voxels);
    c->mean_probability = reference_read_planes(file, "mean/probability", c->batch, c->voxels, planes);
    c->noisy_probability = reference_read_planes(file, "noisy/probability", c->batch, c->voxels, planes);
    c->noisy_bce = reference_scalar(file, "noisy/bce");
    c->model = malloc((size_t)c->net.model.total * sizeof(float));
    for (int i = 0; i < c->net.model.count && c->model != NULL; i++) {
        const crd_parameter *parameter = &c->net.model.parameters[i];
        snprintf(name, sizeof name, "model/%s", parameter->path);
        float *values = reference_read(file, name, H5T_NATIVE_FLOAT, parameter->count);
        memcpy(c->model + parameter->offset, values, (size_t)parameter->count * sizeof(float));
        free(values);
        snprintf(name, sizeof name, "noisy/gradient_bce/%s", parameter->path);
        c->gradient_bce[i] = reference_read_tensor(file, name, parameter->count);
        if (parameter->role != CRD_ROLE_LOC && parameter->role != CRD_ROLE_RHO) continue;
        snprintf(name, sizeof name, "kl_gradient/%s", parameter->path);
        c->gradient_kl[i] = reference_read_tensor(file, name, parameter->count);
    }
    if (kind == CRD_BCNN) {
        c->kl = reference_scalar(file, "kl");
        reference_read_noise(file, c);
    } else {
        reference_read_masks(file, c);
    }
    double *adam = reference_read(file, "adam/bce_loss", H5T_NATIVE_DOUBLE, 2 * REFERENCE_ADAM_STEPS);
    memcpy(c->adam, adam, sizeof c->adam);
    free(adam);
    const hid_t group = H5Gopen2(file, "adam", H5P_DEFAULT);
    c->adam_m = reference_attribute(group, "M");
    H5Gclose(group);
    H5Fclose(file);
    return c;
}

/* A case, loaded at the first call and kept until the program ends, which it does where the data is missing: "f8",
 * "f8_k3" (three classes), or "f16", which only the folder CREDENCE_SHARED has; NULL without it. */
static inline const reference_case *reference_load_named(crd_kind kind, const char *which)
{
    static struct {
        char path[1024];
        reference_case *loaded;
    } known[6];
    const char *shared = getenv("CREDENCE_SHARED"), *data = getenv("CREDENCE_TEST_DATA");
    char path[1024];
    int i = 0;
    if (shared == NULL && strcmp(which, "f16") == 0) return NULL;
    if (shared != NULL)
        snprintf(path, sizeof path, "%s/reference/%s_%s.h5", shared, crd_kind_name(kind), which);
    else
        snprintf(path, sizeof path, "%s/%s_%s.h5", data != NULL ? data : "../../tests/data", crd_kind_name(kind),
                 which);
    while (known[i].loaded != NULL && strcmp(known[i].path, path) != 0) i++;
    if (known[i].loaded != NULL) return known[i].loaded;
    snprintf(known[i].path, sizeof known[i].path, "%s", path);
    known[i].loaded = reference_load_file(kind, path);
    if (known[i].loaded == NULL) {
        printf("the reference data %s can't be opened\n", path);
        exit(1);
    }
    return known[i].loaded;
}

static inline const reference_case *reference_load(crd_kind kind)
{
    const reference_case *c = reference_load_named(kind, "f8");
    if (c->voxels == REFERENCE_VOXELS) return c;
    printf("the reference data is of %lld voxels\n", (long long)c->voxels);
    exit(1);
}

/* How far a computed tensor is from the reference, of the reference's largest value: over the values that the file has,
 * and over sum and norm of the whole tensor, which show errors in the others. */
typedef struct reference_error {
    double values;  /* largest |difference| / largest */
    double measure; /* larger of |difference of norm| / norm and |difference of sum| / (largest * sqrt(count)) */
    double cosine;
} reference_error;

static inline reference_error reference_compare(const reference_tensor *tensor, const double *computed)
{
    double sum = 0, norm = 0;
    comparison stored = {0}; /* of the values that the file has */
    for (int64_t i = 0; i < tensor->count; i++) {
        sum += computed[i];
        norm += computed[i] * computed[i];
        if (i % tensor->stride != 0) continue;
        compare(&stored, computed[i], tensor->values[i / tensor->stride]);
    }
    return (reference_error){.values = worse(stored.error / tensor->largest, 0),
                             .measure =
                                 worse(apart(sqrt(norm), tensor->norm) / tensor->norm,
                                       apart(sum, tensor->sum) / (tensor->largest * sqrt((double)tensor->count))),
                             .cosine = cosine(&stored)};
}

#endif
