/* Rows that the tables of several commands share. `options` is the struct, which has a field of the row's name;
 * `heading` is the group in --help that begins with the row, or NULL. */
#ifndef CRD_VOLUME_SETTING_ROWS_H
#define CRD_VOLUME_SETTING_ROWS_H

#include "base/bytes.h"
#include "credence/settings.h"
#include "volume/setting_checks.h"

/* What a raw file doesn't say; `least` 0: a shape of zeros means that none was given, as a run's record has it. */
#define CRD_SHAPE_ROW(options, reach, least, heading, words)                                                           \
    {                                                                                                                  \
        .name = "shape", .kind = CRD_SETTING_TRIPLE, .scope = (reach), .offset = offsetof(options, shape),             \
        .low = (least), .high = 9007199254740991.0, .argument = "z,y,x", .help = (words), .group = (heading)           \
    }
#define CRD_TYPE_ROW(options, reach, words)                                                                            \
    {                                                                                                                  \
        .name = "type", .kind = CRD_SETTING_TEXT, .scope = (reach), .offset = offsetof(options, type),                 \
        .check = crd_check_type, .argument = "TYPE", .help = (words)                                                   \
    }
#define CRD_OFFSET_ROW(options, reach, words)                                                                          \
    {                                                                                                                  \
        .name = "offset", .kind = CRD_SETTING_INT, .scope = (reach), .offset = offsetof(options, offset),              \
        .initial = "0", .low = 0, .high = 9007199254740991.0, .argument = "BYTES", .help = (words)                     \
    }
#define CRD_RAW_ROWS(options, reach, least, heading)                                                                   \
    CRD_SHAPE_ROW(options, reach, least, heading, "raw data: voxels along z, y and x"),                                \
        CRD_TYPE_ROW(                                                                                                  \
            options, reach,                                                                                            \
            "raw data: u8, i8, u16, i16, u32, i32, u64, f32 or f64, with le or be for the byte order: u16le"),         \
        CRD_OFFSET_ROW(options, reach, "raw data: bytes to skip at the start of the file")

/* `whose` is the place that the edges are said in, too: "the file". */
#define CRD_SPACING_ROW(options, reach, whose)                                                                         \
    {                                                                                                                  \
        .name = "spacing", .kind = CRD_SETTING_TEXT, .scope = (reach), .offset = offsetof(options, spacing),           \
        .check = crd_check_spacing, .argument = "z,y,x,UNIT",                                                          \
        .help = "edges of a voxel, in place of those " whose ": 0.65,0.65,0.65,um"                                     \
    }

/* Which voxels. */
#define CRD_BBOX_ROW(options, words)                                                                                   \
    {                                                                                                                  \
        .name = "bbox", .kind = CRD_SETTING_TEXT, .offset = offsetof(options, bbox), .check = crd_check_bbox,          \
        .argument = "z0:z1,y0:y1,x0:x1", .help = (words)                                                               \
    }
#define CRD_MASK_ROW(options, forms, words)                                                                            \
    {                                                                                                                  \
        .name = "mask", .kind = CRD_SETTING_TEXT, .offset = offsetof(options, mask), .argument = (forms),              \
        .help = (words)                                                                                                \
    }
/* Those of a run that is held against something. */
#define CRD_COUNTED_ROW(options, forms)                                                                                \
    CRD_MASK_ROW(options, forms,                                                                                       \
                 "voxels that count: where a volume isn't 0, or the circle inscribed in (y, x); without it the run's " \
                 "own")

/* What a label's values mean. */
#define CRD_FOREGROUND_ROW(options, words)                                                                             \
    {                                                                                                                  \
        .name = "foreground", .kind = CRD_SETTING_REALS, .offset = offsetof(options, foreground), .argument = "V,...", \
        .help = (words)                                                                                                \
    }
#define CRD_IGNORE_ROW(options)                                                                                        \
    {                                                                                                                  \
        .name = "ignore", .kind = CRD_SETTING_REALS, .offset = offsetof(options, ignore), .argument = "V,...",         \
        .help = "values of the label that mean \"not labelled\": those voxels don't count"                             \
    }

/* What the command may use. */
#define CRD_THREADS_ROW(options, most, heading, words)                                                                 \
    {                                                                                                                  \
        .name = "threads", .kind = CRD_SETTING_INT, .scope = CRD_SCOPE_PROCESS, .offset = offsetof(options, threads),  \
        .initial = "0", .low = 0, .high = (most), .argument = "N", .help = (words), .group = (heading)                 \
    }
#define CRD_MEMORY_ROW(options, reach, usual, words)                                                                   \
    {                                                                                                                  \
        .name = "max-memory", .kind = CRD_SETTING_TEXT, .scope = (reach), .offset = offsetof(options, max_memory),     \
        .check = crd_check_bytes, .initial = (usual), .argument = "SIZE", .help = (words)                              \
    }

#endif
