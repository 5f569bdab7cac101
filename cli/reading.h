/* The flags that tell a command what a file itself doesn't say: raw data, and a missing or wrong spacing.
 *
 * A command that reads volumes puts a cli_reading into its options struct and CLI_READING_ROWS into its table. */
#ifndef CLI_READING_H
#define CLI_READING_H

#include "command.h"
#include "credence/volume.h"

typedef struct cli_reading {
    int64_t shape[3];
    char *type;
    int64_t offset;
    char *spacing;
} cli_reading;

/* `member` is the cli_reading inside the struct `options`. */
#define CLI_READING_ROWS(options, member)                                                                              \
    {.name = "shape",                                                                                                  \
     .kind = CRD_SETTING_TRIPLE,                                                                                       \
     .offset = offsetof(options, member.shape),                                                                        \
     .low = 1,                                                                                                         \
     .high = 9007199254740991.0,                                                                                       \
     .argument = "z,y,x",                                                                                              \
     .help = "raw data: voxels along z, y and x",                                                                      \
     .group = "What the file doesn't say"},                                                                            \
        {.name = "type",                                                                                               \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = offsetof(options, member.type),                                                                     \
         .argument = "TYPE",                                                                                           \
         .help = "raw data: u8, i8, u16, i16, u32, i32, u64, f32 or f64, with le or be for the byte order: u16le"},    \
        {.name = "offset",                                                                                             \
         .kind = CRD_SETTING_INT,                                                                                      \
         .offset = offsetof(options, member.offset),                                                                   \
         .initial = "0",                                                                                               \
         .low = 0,                                                                                                     \
         .high = 9007199254740991.0,                                                                                   \
         .argument = "BYTES",                                                                                          \
         .help = "raw data: bytes to skip at the start of the file"},                                                  \
    {                                                                                                                  \
        .name = "spacing", .kind = CRD_SETTING_TEXT, .offset = offsetof(options, member.spacing),                      \
        .argument = "z,y,x,UNIT", .help = "edges of a voxel, in place of those in the file: 0.65,0.65,0.65,um"         \
    }

/* Room for the unit that cli_reading_options finds. */
typedef struct cli_reading_space {
    char unit[16];
} cli_reading_space;

/* What crd_volume_open wants; strings are borrowed from `reading` and `space`. Wrong usage is said. */
int cli_reading_options(const cli_context *context, const cli_reading *reading, cli_reading_space *space,
                        crd_volume_options *out);

#endif
