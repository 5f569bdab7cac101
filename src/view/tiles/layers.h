/* What is looked at: volumes on the grid of one scan, each with its levels of resolution.
 *
 * Level n has voxels of 2^n along every axis, level 0 is the volume itself. A coarser level comes from the file's own
 * pyramid where it has one, from the store that a background pass fills (view/tiles/levels.h), and until that has come
 * so far from level 0. A run that comes while the server is there adds layers behind the others; none is ever removed,
 * and what may change in one of them is atomic. A layer whose volume is still being written knows how far that has come
 * (view/tiles/written_slices.h), and nothing beyond is read of it. */
#ifndef CRD_VIEW_LAYERS_H
#define CRD_VIEW_LAYERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "credence/view.h"
#include "volume/format.h"

enum { CRD_VIEW_LAYERS = 128, CRD_VIEW_LEVELS = 6, CRD_VIEW_CLASSES = 16, CRD_NO_CLASS = 255, CRD_TILE_EDGE = 256 };

typedef enum crd_layer_kind {
    CRD_LAYER_SCAN,    /* grey values, seen through a window */
    CRD_LAYER_MAP,     /* 0 to 1 */
    CRD_LAYER_CLASSES, /* one of few */
} crd_layer_kind;

typedef struct crd_levels crd_levels;
typedef struct crd_preview crd_preview;
typedef struct crd_written_slices crd_written_slices;

typedef struct crd_layer {
    char id[48];   /* "scan", "uncertainty-5-95" */
    char name[48]; /* "uncertainty 5-95 %" */
    char run[256]; /* the run's name, or "" */
    bool aside;    /* of an earlier run, only to be looked at: it isn't the one that is accepted from, or surveyed */
    crd_layer_kind kind;
    crd_volume *source;   /* the server's own handle; readers open it again */
    crd_volume_info info; /* of it */
    int64_t origin[3];    /* its first voxel in the scan */
    double scale;         /* stored * scale = the quantity */
    _Atomic double high;  /* of a map: the quantity that its highest colour stands for */
    bool spread;          /* that is less than 1 where the map is nowhere near it */
    int levels;           /* at least 1 */
    int64_t shapes[CRD_VIEW_LEVELS][3];
    crd_volume *pyramid[CRD_VIEW_LEVELS]; /* the file's own levels from 1 on, or NULL */
    bool painted;                         /* by the user: it is never stored, and what is labelled is seen from afar */
    bool slow_across;                     /* planes across y and x would take seconds from the file */
    bool in_blocks;                       /* so its level 0 is stored, too; or because a cold tile would be slow */
    crd_levels *_Atomic store;            /* NULL: there is none */
    crd_preview *preview;                 /* likewise */
    crd_written_slices *written;          /* NULL: the volume was complete when it was opened */
    atomic_llong revision;
    int class_count;
    crd_volume
        *mask; /* of a run's segmentation, in the scan: outside it says nothing; NULL: there is none. The painter's */
    double class_values[CRD_VIEW_CLASSES];  /* in the volume */
    uint8_t class_labels[CRD_VIEW_CLASSES]; /* what is painted where a run's class is accepted */
    char class_names[CRD_VIEW_CLASSES][32];
} crd_layer;

typedef struct crd_layers {
    crd_layer items[CRD_VIEW_LAYERS];
    atomic_int count;   /* those below it are complete */
    int made;           /* those up to here are being filled in */
    size_t cache_bytes; /* decoded data of each file that is kept */
    struct {            /* what the scan's file doesn't say itself; 0 and "" where it does */
        int64_t shape[3], offset;
        char type[16], spacing[160];
    } reading;
} crd_layers;

/* Opens what the options name: a scan, a run, a label. The first layer is the one that all others lie on. */
crd_status crd_layers_open(const crd_view_options *options, const crd_monitor *monitor, crd_layers *out);
void crd_layers_close(crd_layers *layers);
/* How far is the run in a folder? */
typedef enum crd_run_stage {
    CRD_RUN_NOTHING,
    CRD_RUN_GROWS, /* its volumes are OME-Zarr, and there as far as they are computed */
    CRD_RUN_COMPLETE,
} crd_run_stage;
crd_run_stage crd_run_look(const char *folder);
/* Adds the layers of a run; one that is still being computed grows. `name` is what it is called; `aside`: the last run
 * that was added stays the one that counts. From one thread at a time, others may read; after a failure nothing was
 * added. */
crd_status crd_layers_add_run(crd_layers *layers, const char *folder, const char *name, bool aside,
                              const crd_monitor *monitor);
/* Finds the highest colour of a map anew, from what is there of it. */
crd_status crd_layer_find_high(crd_layer *layer);

/* The axis along which neighbours are neighbours in the file. */
int crd_layer_fastest(const crd_layer *layer);
/* The class of a value, or CRD_NO_CLASS. */
int crd_layer_class(const crd_layer *layer, double value);
/* Values of the layer's type to classes, a byte each, in place: a class takes no more room than any value. */
void crd_layer_to_classes(const crd_layer *layer, int64_t count, char *voxels);

/* One thread's handles of all layers and levels, opened as they are needed. */
typedef struct crd_reader {
    crd_layers *layers;
    crd_volume *source[CRD_VIEW_LAYERS][CRD_VIEW_LEVELS]; /* level 0 and the file's own pyramid */
    crd_volume *store[CRD_VIEW_LAYERS][CRD_VIEW_LEVELS];
    void *voxels; /* room for what is read, */
    int64_t room; /* in bytes */
} crd_reader;

void crd_reader_close(crd_reader *reader);
/* Room for so many bytes; the last one asked for is gone. */
crd_status crd_reader_room(crd_reader *reader, int64_t bytes, void *out);
/* Where a box of a level can be read: *out NULL where nothing has it yet. */
crd_status crd_reader_find(crd_reader *reader, int layer, int level, const crd_box *box, crd_volume **out);
/* Level 0 in the file. */
crd_status crd_reader_source(crd_reader *reader, int layer, crd_volume **out);

#endif
